"""What the page computes a verdict with: Python's own constants, published runs and machines, handed over as plain data. Chapter: yours."""

from __future__ import annotations

from functools import cache
from typing import Any

from helpers.facts import MACHINES
from helpers.nccl import limited, runs
from helpers.records import packed
from helpers.yours import asked, beside, logs, places, slow, snapshots, suspects, tables, topologies, traces
from helpers.yours.causes import KINDS
from helpers.yours.published import published
from helpers.yours.run import checked
from helpers.yours.run.rates import published_rates

CHAPTERS = {  # by stem, as their pages are titled
    "allocator": "The caching allocator",
    "benchmarking": "Benchmarking",
    "data-parallel": "Data parallel",
    "execution-model": "Execution model",
    "hangs": "Hangs",
    "inside-nccl": "Inside NCCL",
    "interconnects": "Interconnects",
    "memory-hierarchy": "The memory hierarchy",
    "ranks": "Ranks",
    "reading-a-trace": "Where did the step's milliseconds go?",
    "roofline": "Roofline",
    "training-memory": "Training memory",
}
NUMBERS = {
    beside: ("SHOWN",),
    suspects: ("SLOWER", "LEAST", "BETTER", "ALIKE"),
    slow: ("LARGE", "SMALL", "HEALTHY", "HALF", "LAUNCHES", "SLOT", "OLD_SLOT", "LINKS_DECIDE", "TRICKLE"),
    tables: ("ENDS_EARLY",),
    runs: ("JUMP", "AFTER"),
    traces: ("EXPOSED", "LATE", "LOADS", "IDLE", "FEW"),
}


@cache
def known() -> dict[str, Any]:
    """kinds: of causes, with chapter and command. published: runs, each point as [bytes, seconds]. places: by key of MACHINES.

    by_gpu: the machine that a GPU stands for, where a text names no more. limits: the numbers that decide, by their Python names.
    """
    return {
        "kinds": {name: kind._asdict() for name, kind in KINDS.items()},
        "chapters": CHAPTERS,
        "published": [run._asdict() | {"points": [point[:2] for point in run.points]} for run in published()],
        "places": {name: place(name) for name in MACHINES},
        "names": places.NAMES,
        "by_gpu": by_gpu(),
        "limits": {name.lower(): getattr(module, name) for module, names in NUMBERS.items() for name in names},
        "loose": {"share": snapshots.LOOSE, "least": snapshots.LEAST},
        "logs": {"caps": logs.CAPS, "shorter": logs.SHORTER_PATH, "many": logs.MANY},
        "near": topologies.NEAR,
        "traces": {"small": traces.SMALL, "most": traces.MOST, "starts": limited.STARTS, "smallest": limited.SMALLEST},
        "rates": published_rates(),
        "run": {
            "most": packed.MOST,
            "failed": [one._asdict() for one in checked.FAILED],
            "groups": checked.GROUPS,
            "letters": checked.LETTERS,
        },
        "refused": asked.KNOWN,
    }


def place(name: str) -> dict[str, Any]:
    """A machine as the page has it: `across` in bytes per second one way, None where there is no network."""
    found = vars(places.told_place(name))
    return {**found, "across": found["across"] and found["across"].value}


def by_gpu() -> dict[str, str]:
    """{"H100": "HGX-H100", ...}: the first machine with that GPU, or with one that is joined alike."""
    first = {machine.accelerator: name for name, machine in reversed(MACHINES.items())}
    return {key: first[same] for _, key in places.NAMES if (same := places.AS.get(key, key)) in first}
