"""The process that runs the checks, as the desk sees it; a new one after a check that hung."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import IO

from tools import progress

from .alone import SETTINGS
from .checks import Check
from .place import ROOT, Place


class Server:
    """Started at the first question. module: where it finds checks by name. log: for what they print, else where ours goes."""

    def __init__(self, place: Place, module: str = "tools.gpu.checks", log: IO[str] | None = None):
        self.place, self.module, self.log, self.process = place, module, log, None

    def ask(self, check: Check, limit: float, alive: Callable[[float], None] = lambda seconds: None) -> dict:
        """The check's answer within `limit` seconds, or what happened instead. alive: told the seconds so far, at every beat."""
        if self.process is None:
            self._start()
        with contextlib.suppress(OSError):  # it has ended: the answer below says so
            self.process.stdin.write(f"{check.name}\n")
            self.process.stdin.flush()
        line = self._line(limit, alive)
        if line:
            return json.loads(line)
        hung = f"hung: stopped after {limit:.3g} s"
        why = hung if line is None else f"its process ended (code {self.process.wait()})"
        self.stop()
        return {"outcome": "failed", "why": why, "seconds": limit if line is None else 0.0}

    def _start(self) -> None:
        arguments = [self.module, *self.place.words()]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tools.gpu.serve", *arguments],
            cwd=ROOT,
            env={name: value for name, value in os.environ.items() if name not in SETTINGS},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            start_new_session=True,  # so that it can be stopped with everything it started
        )

    def _line(self, limit: float, alive: Callable[[float], None]) -> str | None:
        """A line, "" at the end of the process, None when `limit` seconds are over."""
        began, passed = time.monotonic(), 0.0
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while passed < limit:
                if selector.select(min(progress.beat(), limit - passed)):
                    return self.process.stdout.readline()
                alive(passed := time.monotonic() - began)
        return None

    def stop(self) -> None:
        """End it and everything it started."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process = None
