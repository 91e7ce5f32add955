"""The process behind warm.py: torch imported once; a line on stdin is a job, a line on stdout its exit status."""

import atexit
import gc
import json
import os
import runpy
import signal
import sys
import threading
import time
import warnings
from importlib import import_module
from pathlib import Path

import numpy  # noqa: F401
import torch
import torch.distributed
import warm_spare

GRACE = 5.0  # seconds in which a rank that was told to end has ended
kernels: set[int] = set()  # that have been started, and not yet been seen to have ended


def rank(job: dict, env: dict[str, str]) -> None:
    """In the fork: become the program, and end as it ends. Never returns."""
    code = 1
    try:
        nowhere = os.open(os.devnull, os.O_RDONLY)
        out, err = (os.open(job[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND) for name in ("out", "err"))
        for fd, target in ((nowhere, 0), (out, 1), (err, 2)):
            os.dup2(fd, target)
            os.close(fd)
        signal.alarm(int(job["limit"]))
        os.environ.update(env)
        code = become(job["argv"])
    finally:
        os._exit(code)


def task(argv: list[str], env: dict[str, str]) -> None:
    """In a fork that shares its parent's output: `python argv`. Never returns."""
    code = 1
    try:
        os.environ.update(env)
        code = become(argv)
    finally:
        os._exit(code)


def kernel(job: dict) -> None:
    """In a fork: `python argv`, silent. Never returns."""
    code = 1
    try:
        os.setpgid(0, 0)  # before the spare is forked: Jupyter interrupts and ends the group of what it started
        nowhere = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(nowhere, fd)
        os.chdir(job["cwd"])
        os.environ.clear()
        # When that is gone, a kernel ends by itself
        os.environ.update(job["env"] | {"JPY_PARENT_PID": str(os.getppid())})
        warm_spare.keep()
        code = become(job["kernel"])
    finally:
        os._exit(code)


def become(argv: list[str]) -> int:
    """The exit status of the program, its traceback printed and its exit functions run."""
    module = argv[0] == "-m"
    sys.argv = argv[1:] if module else argv
    warnings._processoptions(filter(None, os.environ.get("PYTHONWARNINGS", "").split(",")))  # as a new python does
    sys.path[0] = str(Path.cwd() if module else Path(argv[0]).absolute().parent)
    try:
        if module:
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(argv[0], run_name="__main__")
        code = 0
    except SystemExit as asked:
        code = asked.code if isinstance(asked.code, int) else int(asked.code is not None)
        if isinstance(asked.code, str):
            print(asked.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())  # the program may have set its own
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def keep_store(port: str) -> None:
    """In a fork: what torchrun keeps for its ranks, so that it outlives each of them. Never returns."""
    store = torch.distributed.TCPStore("127.0.0.1", int(port), is_master=True, wait_for_workers=False)
    while store:
        signal.pause()


def fork(become_it, *what) -> int:
    """The pid of a process that does this and never returns."""
    pid = os.fork()
    if pid == 0:
        become_it(*what)
    return pid


def run(job: dict) -> int | list[int]:
    """Start every rank; a failure ends the others. A program that is no rank: its own exit status. A step: that of every task.

    A kernel is not waited for: its pid.
    """
    kernels.difference_update([pid for pid in kernels if os.waitpid(pid, os.WNOHANG)[0]])
    for name in job.get("loaded", ()):
        import_module(name)
    gc.freeze()  # else the first collection in each fork would copy all of torch
    if "kernel" in job:
        kernels.add(pid := fork(kernel, job))
        os.setpgid(pid, pid)  # as the fork does itself: whoever comes first
        return pid
    if "tasks" in job:
        pids = [fork(rank, *told) for told in job["tasks"]]
        return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    if "RANK" not in job["ranks"][0]:
        return os.waitstatus_to_exitcode(os.waitpid(fork(rank, job, job["ranks"][0]), 0)[1])
    keeper = fork(keep_store, job["ranks"][0]["MASTER_PORT"])
    codes = wait({fork(rank, job, env) for env in job["ranks"]}, job["looks"])
    os.kill(keeper, signal.SIGKILL)
    os.waitpid(keeper, 0)
    return int(any(codes))


def wait(running: set[int], looks: float) -> list[int]:
    """The exit status of every rank, once all have ended."""
    codes, told = [], None
    while running:
        time.sleep(looks if told is None else 0.01)
        for pid in list(running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                running.remove(pid)
                codes.append(os.waitstatus_to_exitcode(status))
        if any(codes) and (told is None or time.monotonic() > told + GRACE):
            for pid in running:
                os.kill(pid, signal.SIGTERM if told is None else signal.SIGKILL)
            told = told or time.monotonic()
    return codes


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
