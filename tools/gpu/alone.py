"""A check of memory or speed has a process and a GPU to itself: counters begin at zero, and the process that asks stays off CUDA.

python -m tools.gpu.alone MODULE FUNCTION DEVICE prints what FUNCTION(DEVICE) returns, as the last line, in JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from importlib import import_module

from .place import ROOT, Place

SETTINGS = (
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
)  # ours are torch's defaults


def alone(fn: Callable[[str], dict], **env: str) -> Callable[[Place], dict]:
    """The check that runs fn("cuda") in a process of its own, or fn("cpu") where ranks run over Gloo. env: for that process."""

    def check(place: Place) -> dict:
        return ask(fn, "cuda" if place.backend == "nccl" else "cpu", **env)

    check.__doc__, check.__name__ = fn.__doc__, fn.__name__
    return check


def ask(fn: Callable[[str], dict], device: str, **env: str) -> dict:
    """What fn(device) gives there. AssertionError with the text of what it raised, or with how its process ended."""
    command = [sys.executable, "-m", "tools.gpu.alone", fn.__module__, fn.__name__, device]
    env = {name: value for name, value in os.environ.items() if name not in SETTINGS} | env
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)  # its errors go where ours go
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines, f"its process ended with code {done.returncode} and said nothing"
    answer = json.loads(lines[-1])
    assert "raised" not in answer, answer["raised"]
    return answer["figures"]


def main(module: str, name: str, device: str) -> None:
    """Run it, and print the answer."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what checks print is not an answer
    try:
        answer = {"figures": getattr(import_module(module), name)(device)}
    except Exception as error:
        traceback.print_exc()
        answer = {"raised": f"{type(error).__name__}: {error}"}
    answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
