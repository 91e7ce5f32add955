"""A notebook's kernel as a fork of warm.py's process: Jupyter sees a process as it would have started, torch is there already.

One test (tests/notebooks/test_lab.py) starts a kernel as a reader does.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import warm

LAUNCHES = "jupyter_client.provisioning.local_provisioner.launch_kernel"


class Forked:
    """What Jupyter asks of a `subprocess.Popen`, of a process that is not its own child."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid, self._fd = pid, os.pidfd_open(pid)
        self._ends = select.poll()
        self._ends.register(self._fd, select.POLLIN)

    def poll(self) -> int | None:
        """0 once it has ended, whatever its status: that is told to its parent alone."""
        return 0 if self._ends.poll(0) else None

    def wait(self, timeout: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
        if not self._ends.poll(None if timeout is None else 1000 * timeout):
            raise subprocess.TimeoutExpired("a kernel", timeout)
        return 0

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._fd, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def __del__(self) -> None:
        os.close(self._fd)


def launch(cmd: list[str], *, cwd: str | None = None, env: dict[str, str] | None = None, **_: object) -> Forked:
    """`cmd` is `python ... -m ipykernel_launcher ...`; its output goes nowhere, as nbval asks for."""
    where = {"cwd": str(cwd or Path.cwd()), "env": dict(os.environ if env is None else env)}
    return Forked(warm.ask({"kernel": cmd[cmd.index("-m") :], **where}))


@contextlib.contextmanager
def forked() -> Iterator[None]:
    """While it lasts, the kernels that Jupyter starts are forks; where a process cannot be watched (macOS) they are not."""
    with mock.patch(LAUNCHES, launch) if hasattr(os, "pidfd_open") else contextlib.nullcontext():
        yield
