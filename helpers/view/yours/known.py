"""What the page knows before Python is asked: machines, chapters, how much is read. Chapter: yours."""

from __future__ import annotations

from functools import cache
from typing import Any

from helpers.facts import MACHINES
from helpers.yours import page
from helpers.yours.verdict import refusal

CHAPTERS = {  # by stem, as _toc.yml calls them
    "allocator": "Caching allocator",
    "benchmarking": "Benchmarking",
    "choosing": "NCCL's choice",
    "data-parallel": "Data parallel",
    "execution-model": "Execution model",
    "hangs": "Hangs",
    "hierarchy": "Hierarchy",
    "inside-nccl": "Inside NCCL",
    "interconnects": "Interconnects",
    "memory-hierarchy": "Memory hierarchy",
    "ranks": "Ranks",
    "reading-a-trace": "Reading a trace",
    "renting": "Renting",
    "roofline": "Roofline",
    "setup": "Set up",
    "too-big": "Too big for one GPU",
    "training-memory": "Training memory",
}


@cache
def known() -> dict[str, Any]:
    """places: a machine's title by its key of MACHINES. refusal: a verdict that refuses, but for the reason."""
    return {
        "places": {name: machine.title for name, machine in MACHINES.items()},
        "chapters": CHAPTERS,
        "most": page.MOST,
        "box": page.BOX,
        "too_much": page.TOO_MUCH,
        "refusal": refusal("").as_json(),
    }
