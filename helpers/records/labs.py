"""A lab that ran from end to end, on how many GPUs or ranks, when and with what; `helpers.ranks.labs` writes it. Page: recorded-runs."""

from __future__ import annotations

import re
from typing import Any

from helpers.records.fields import Bad, expected, fields, positive, whole_number
from helpers.records.kinds import run

GPUS = 0, 1, 2, 4, 8
RANKS = 2, 4, 8  # of which a lab's card says how long they take without a GPU
_NAME = re.compile(r"[a-z][a-z-]*-(\d+)(ranks)?")
_DATA = fields({"cells": whole_number, "seconds": positive})


def lab(data: Any, stem: str) -> None:
    """A run whose name ends with the number of its GPUs, "ring-8", or of its CPU ranks, "ring-8ranks"; with GPUs it says its NCCL."""
    run(data, stem)
    _DATA(data["data"], "data")
    gpus, named = len(data["machine"]["gpus"]), _NAME.fullmatch(stem)
    if named and named[2]:
        if gpus or int(named[1]) not in RANKS:
            raise expected(f"{', '.join(map(str, RANKS))} ranks without a GPU", stem, "name")
        return
    if gpus not in GPUS:
        raise expected(f"{', '.join(map(str, GPUS))} GPUs", gpus, "machine.gpus")
    if not named or int(named[1]) != gpus:
        raise expected(f"a lab and its number of GPUs, {gpus}", stem, "name")
    if gpus and "nccl" not in data["versions"]:
        raise Bad("versions", "the field 'nccl' is missing")
