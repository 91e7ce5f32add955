"""A notebook's kernel as a fork of warm.py's process: Jupyter sees a process as it would have started, torch is there already.

It brings a fork of its own that becomes its ranks' fork server (warm_spare.py), so torch is there too.
One test (tests/notebooks/test_lab.py) starts a kernel as a reader does.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from unittest import mock

import warm
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager

_numbers = itertools.count()
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


def launch(
    cmd: list[str],
    *,
    loaded: tuple[str, ...] = (),
    cwd: str | None = None,
    env: dict[str, str] | None = None,
    **_: object,
) -> Forked:
    """`cmd` is `python ... -m ipykernel_launcher ...`; its output goes nowhere, as nbval asks for. loaded: imported before."""
    where = {"cwd": str(cwd or Path.cwd()), "env": dict(os.environ if env is None else env)}
    return Forked(warm.ask({"kernel": cmd[cmd.index("-m") :], "loaded": loaded, **where}))


def talking_through_files(**told: object) -> KernelManager:
    """A kernel's manager that needs no ports."""
    return KernelManager(transport="ipc", ip=f"{_folder().name}/{next(_numbers)}", **told)


def started(**options: object) -> tuple[KernelManager, BlockingKernelClient]:
    """A kernel that answers, and its client: jupyter_client's start_new_kernel, without ports. options: of start_kernel."""
    manager = talking_through_files(kernel_name="python3")
    manager.start_kernel(**options)
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
    except RuntimeError:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        raise
    return manager, client


@cache
def _folder() -> tempfile.TemporaryDirectory:
    """Gone when this process ends."""
    return tempfile.TemporaryDirectory(prefix="kernels-")


@contextlib.contextmanager
def forked(loaded: tuple[str, ...] = ()) -> Iterator[None]:
    """While it lasts, the kernels that Jupyter starts are forks; where a process cannot be watched (macOS) they are not.

    And nbval's talk through files: Jupyter looks for five free ports and lets them go for the kernel to take, and ranks that start
    meanwhile may be quicker. Then the kernel dies before it answers. loaded: imported before.
    """
    with contextlib.ExitStack() as stack:
        if hasattr(os, "pidfd_open"):
            stack.enter_context(mock.patch(LAUNCHES, partial(launch, loaded=loaded)))
            stack.enter_context(mock.patch("nbval.kernel.KernelManager", talking_through_files))
        yield
