"""Runs a long command and shows that it is alive: what it does now, and for how long."""

from __future__ import annotations

import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

BEAT = 10.0  # seconds between two lines where the output is a file
TAIL = 25  # lines of the command's own output shown when it fails


class CommandFailed(Exception):
    """The command ended with another status than 0; `tail` holds its last lines."""

    def __init__(self, command: Sequence[str], status: int, tail: Sequence[str]):
        super().__init__(f"exit status {status} of: {' '.join(command)}")
        self.tail = tuple(tail)


def run(title: str, command: Sequence[str]) -> float:
    """Runs `command`, showing its newest line under `title`; returns the seconds it took. Raises CommandFailed."""
    start, lines = time.monotonic(), []
    child = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        close_fds=False,  # of what it may inherit there is the lock of an install
    )
    try:
        for line in _beats(child):
            lines += [line] if line else []
            show(f"{title}  {time.monotonic() - start:4.0f} s  {lines[-1] if lines else ''}", steady=bool(line))
    except BaseException:
        child.terminate()
        child.wait()
        raise
    clear()
    if child.wait():
        raise CommandFailed(command, child.returncode, lines[-TAIL:])
    return time.monotonic() - start


def _beats(child: subprocess.Popen):
    """Yields each line of the child, and "" whenever it was silent for a beat, until it closes its output."""
    inbox: queue.Queue = queue.Queue()

    def read() -> None:
        for line in child.stdout:
            inbox.put(line.strip())
        inbox.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = inbox.get(timeout=beat())
        except queue.Empty:
            line = ""
        if line is None:
            return
        yield line


def beat() -> float:
    """Seconds between two signs of life."""
    return 1.0 if sys.stdout.isatty() else BEAT


def show(text: str, steady: bool = False) -> None:
    """On a terminal one line that changes; in a file a line per beat of silence, not one per line of the command."""
    if sys.stdout.isatty():
        sys.stdout.write(f"\r\033[K{text[: shutil.get_terminal_size().columns - 1]}")
        sys.stdout.flush()
    elif not steady:
        print(text[:160], flush=True)


def clear() -> None:
    """The living line is gone, for one that stays."""
    if sys.stdout.isatty():
        sys.stdout.write("\r\033[K")
