"""A check of memory or speed has a process and a GPU to itself: counters begin at zero, and the process that asks stays off CUDA.

The process is forked from a server that has imported torch, as ranks are: that saves an import for each of them. What needs an
environment of its own has a Python of its own, since torch reads some of it when it is imported:
python -m tools.gpu.alone MODULE FUNCTION DEVICE prints what FUNCTION(DEVICE) returns, as the last line, in JSON.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection

from helpers.ranks.machine import server
from helpers.ranks.machine.gpus import find_gpus

from . import kept
from .place import ROOT, Place

# Ours are torch's defaults
SETTINGS = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING")


def alone(fn: Callable[[str], dict], **env: str) -> Callable[[Place], dict]:
    """The check that runs fn("cuda") in a process of its own, or fn("cpu") where ranks run over Gloo. env: for that process."""

    def check(place: Place) -> dict:
        kept.close()
        return ask(fn, "cuda" if place.backend == "nccl" else "cpu", **env) | {"on": _label(place)}

    check.__doc__, check.__name__ = fn.__doc__, fn.__name__
    return check


def _label(place: Place) -> str:
    """What its records are of: no ranks, and nobody to share the GPU with."""
    return f"one process, {next(iter(find_gpus().names), 'GPU') if place.backend == 'nccl' else 'CPU'}"


def ask(fn: Callable[[str], dict], device: str, **env: str) -> dict:
    """What fn(device) gives there. AssertionError with the text of what it raised, or with how its process ended."""
    answer = _fresh(fn, device, env) if env else _forked(fn, device)
    assert "raised" not in answer, answer["raised"]
    return answer["figures"]


def _forked(fn: Callable[[str], dict], device: str) -> dict:
    server.warm_up()
    context = server.context()
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_tell, args=(theirs, fn.__module__, fn.__name__, device), daemon=True)
    process.start()
    theirs.close()
    try:
        said = ours.recv()
    except EOFError:
        said = None
    process.join()
    ours.close()
    assert said is not None, f"its process ended with code {process.exitcode} and said nothing"
    return json.loads(said)


def _tell(pipe: Connection, module: str, name: str, device: str) -> None:
    pipe.send(json.dumps(answer(module, name, device)))
    pipe.close()


def _fresh(fn: Callable[[str], dict], device: str, env: dict[str, str]) -> dict:
    command = [sys.executable, "-m", "tools.gpu.alone", fn.__module__, fn.__name__, device]
    env = {name: value for name, value in os.environ.items() if name not in SETTINGS} | env
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)  # its errors go where ours go
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines, f"its process ended with code {done.returncode} and said nothing"
    return json.loads(lines[-1])


def answer(module: str, name: str, device: str) -> dict:
    """figures, or the text of what it raised."""
    try:
        fn = getattr(import_module(module), name)
        gc.freeze()  # else every collection would go through, and in a fork copy, all of torch
        return {"figures": fn(device)}
    except Exception as error:
        traceback.print_exc()
        return {"raised": f"{type(error).__name__}: {error}"}


def main(module: str, name: str, device: str) -> None:
    """Run it, and print the answer."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what checks print is not an answer
    answers.write(json.dumps(answer(module, name, device)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
