"""A fork kept ready to become a program's fork server: with torch in it already, where multiprocessing would start a new python.

What it gets is what a new process would inherit: files, environment, folder and the mask of signals. It does this once; the next
server of the same program, and every other program, is started as a reader's is (tests/ranks and tests/faults start theirs so).
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import sys
import threading
import types
import warnings
from collections.abc import Callable
from multiprocessing import forkserver, util
from pathlib import Path

SERVER = "from multiprocessing.forkserver import main; "  # so multiprocessing would have a new python begin
STANDARD = (0, 1, 2)


def keep() -> None:
    """In a process with one thread: fork the spare, and hand it the first fork server that is wanted here."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        _wait(theirs)
    theirs.close()
    util.spawnv_passfds = _handing(pid, ours, util.spawnv_passfds)


def _handing(pid: int, spare: socket.socket, spawn: Callable[..., int]) -> Callable[..., int]:
    """multiprocessing's spawnv_passfds, but for the first fork server."""

    def spawnv_passfds(path: bytes, args: list[str], passfds: list[int]) -> int:
        if SERVER not in args[-1] or spare.fileno() < 0:  # it is asked once
            return spawn(path, args, passfds)
        told = {"command": args[-1], "fds": passfds, "env": dict(os.environ), "cwd": str(Path.cwd())}
        told["blocked"] = sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        with spare:
            try:
                socket.send_fds(spare, [b"."], [*STANDARD, *passfds])
                spare.sendall(json.dumps(told).encode())
            except BrokenPipeError:  # it was killed
                return spawn(path, args, passfds)
        return pid

    return spawnv_passfds


def _wait(asked: socket.socket) -> None:
    """In the fork: until it is asked, or the process that keeps it has ended. Never returns."""
    code = 1
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Jupyter interrupts the whole group
        first, fds, _, _ = socket.recv_fds(asked, 1, 16)
        if first:
            with asked, asked.makefile() as file:
                told = json.load(file)
            code = _serve(told, fds)
        else:
            code = 0
    finally:
        os._exit(code)


def _serve(told: dict, fds: list[int]) -> int:
    """Be what `python -c command` would be; its exit status."""
    for fd, target in zip(fds, STANDARD, strict=False):
        os.dup2(fd, target)
        os.close(fd)
    inherited = dict(zip(told["fds"], fds[len(STANDARD) :], strict=True))
    os.chdir(told["cwd"])
    os.environ.clear()
    os.environ.update(told["env"])
    warnings._processoptions(filter(None, os.environ.get("PYTHONWARNINGS", "").split(",")))
    sys.argv, sys.path[0], sys.modules["__main__"] = ["-c"], "", types.ModuleType("__main__")
    signal.pthread_sigmask(signal.SIG_SETMASK, told["blocked"])
    code = 0
    try:
        first, _, then = told["command"].partition(SERVER)
        exec(first + then, {"main": _numbered(inherited)})
    except SystemExit as asked:
        code = asked.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    return code


def _numbered(inherited: dict[int, int]) -> Callable[..., None]:
    """The fork server's main, told the numbers that its files have here."""

    def main(listener: int, alive: int, *rest: object, **more: object) -> None:
        forkserver.main(inherited[listener], inherited[alive], *rest, **more)

    return main
