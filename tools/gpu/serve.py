"""The process in which checks run, one after the other, until one hangs and it is replaced.

python -m tools.gpu.serve MODULE BACKEND NRANKS GPUS [NCCL'S OLD FILES ...]; MODULE has CHECKS; a check's name on each line of
stdin, a JSON object on each line of stdout.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from importlib import import_module

from . import kept
from .place import Place


def main(module: str, *place_words: str) -> None:
    """Serve until stdin ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what checks print is not an answer
    place, checks = Place.of(*place_words), {check.name: check for check in import_module(module).CHECKS}
    try:
        for line in sys.stdin:
            answers.write(json.dumps(answer(checks[line.strip()], place)) + "\n")
    finally:
        kept.close()


def answer(check, place: Place) -> dict:
    """outcome: passed or failed; figures: what the check found; why: the error's text; seconds: how long it ran."""
    began = time.monotonic()
    try:
        found = {"outcome": "passed", "figures": check.fn(place)}
    except Exception as error:
        traceback.print_exc()
        found = {"outcome": "failed", "why": f"{type(error).__name__}: {error}"}
    return found | {"seconds": time.monotonic() - began}


if __name__ == "__main__":
    main(*sys.argv[1:])
