"""The process behind warm.py: torch imported once; a line on stdin is a job, a line on stdout its exit status."""

import atexit
import json
import os
import runpy
import signal
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path

import numpy  # noqa: F401
import torch
import torch.distributed  # noqa: F401

GRACE = 5.0  # seconds in which a rank that was told to end has ended


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
        traceback.print_exc()
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def run(job: dict) -> int:
    """Start every rank; a failure ends the others. One program that is no rank: its own exit status."""
    pids = []
    for env in job["ranks"]:
        pid = os.fork()
        if pid == 0:
            rank(job, env)
        pids.append(pid)
    codes: dict[int, int] = {}
    told = None
    while len(codes) < len(pids):
        pid, status = os.waitpid(-1, 0 if told is None else os.WNOHANG)
        if pid:
            codes[pid] = os.waitstatus_to_exitcode(status)
        elif time.monotonic() > told + GRACE:
            stop(pids, codes, signal.SIGKILL)
        else:
            time.sleep(0.01)
        if any(codes.values()) and told is None:
            told = time.monotonic()
            stop(pids, codes, signal.SIGTERM)
    return codes[pids[0]] if len(pids) == 1 and "RANK" not in job["ranks"][0] else int(any(codes.values()))


def stop(pids: list[int], codes: dict[int, int], signum: int) -> None:
    for pid in set(pids) - set(codes):
        os.kill(pid, signum)


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
