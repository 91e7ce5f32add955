"""How a rank ends with its notebook, whatever it is doing then, and what it has forked ends with it. Chapter: hangs.

A pipe whose other end closes is heard by the kernel itself, which kills: no GIL is needed, no thread, no cooperation. A rank
that closes descriptors it does not own may lose that pipe; it then ends with the fork server, which ends with the notebook.
A sandbox that takes F_SETSIG and sends nothing (gVisor was not tried) has the fork server's end, too: prctl's signal needs no pipe.
A program that a rank starts (subprocess) is neither: it is that program's own, and lives on.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import Connection

_PR_SET_PDEATHSIG = 1


def die_with(control: Connection) -> None:
    """From now on this process ends when the parent's end of `control` closes; so does every process that it forks."""
    if hasattr(fcntl, "F_SETSIG"):
        if os.getppid() != multiprocessing.parent_process().pid:  # forked by the server, by the one thread that it has
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _kill_at_the_end_of(control.fileno(), control)
    else:  # not Linux: a thread notices, unless the GIL is held
        _watch(control)
    pipe = os.fstat(control.fileno())
    os.register_at_fork(after_in_child=lambda: _forked(control, pipe))


def _forked(control: Connection, pipe: os.stat_result) -> None:
    """In a process that the rank has just forked: it needs a description of the pipe for itself, or the rank's would be taken over."""
    if not hasattr(fcntl, "F_SETSIG"):
        return _watch(control)
    with contextlib.suppress(OSError):  # the rank has closed it
        if not os.path.samestat(pipe, os.fstat(control.fileno())):
            return None  # and opened something else in its place
        _kill_at_the_end_of(os.open(f"/proc/self/fd/{control.fileno()}", os.O_RDONLY | os.O_NONBLOCK), control)
    return None


def _kill_at_the_end_of(fd: int, control: Connection) -> None:
    """fd: this process's own description of the pipe that `control` reads."""
    fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
    if control.poll(0):  # it closed before we were ready to hear of it
        os.kill(os.getpid(), signal.SIGKILL)


def _watch(control: Connection) -> None:
    threading.Thread(target=_wait_for_end, args=(control,), name="control", daemon=True).start()


def _wait_for_end(control: Connection) -> None:
    control.poll(None)
    os.kill(os.getpid(), signal.SIGKILL)
