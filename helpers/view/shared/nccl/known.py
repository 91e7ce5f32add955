"""The constants of helpers.nccl as plain data: what the modules of this room compute with. Chapter: choosing."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache

from helpers.facts import MACHINES, Machine
from helpers.nccl import fabric, releases, tuning
from helpers.nccl.corrected import COVERED, LL_ROW, SHARED, TAIL
from helpers.nccl.cut import NVLS_CHUNK, NVLS_CHUNKS
from helpers.nccl.launch import LAUNCHES
from helpers.nccl.platforms import GENERATION, LIKE, LINKS
from helpers.nccl.protocols import PROTOCOLS

SEARCH = ("MOST_CHANNELS", "MOST_HEADS", "DUPLICATED", "NOT_MUCH_SLOWER")
PROTOCOL = ("threads", "threshold", "efficiency", "chunk")
DESCRIBED = ("title", "accelerator", "gpus", "nodes", "domain", "shape", "nics", "cpu")
SAME = ("BASE", "HOP", "NVLS_EFFICIENCY", "NVLS_LATENCY", "PAT_PER_RANK", "TREE_FACTORS", "LL_MAX_NETWORK")
LISTS = ("INTRA", "INTRA_90", "GENERATIONS", "PROTOCOL_ORDER", "LATEST")


@cache
def known() -> dict:
    """What `predict` of predict.mjs takes first: plain JSON, each number as the Python module has it.

    machines: by key, what a prediction reads of one of helpers.facts, `across` in bytes per second one way or None.
    """
    return {
        "machines": {name: described(machine) for name, machine in MACHINES.items()},
        "platforms": {"generation": GENERATION, "links": LINKS, "like": LIKE},
        "launches": {name: asdict(launch) for name, launch in LAUNCHES.items()},
        "releases": [{**asdict(one), "number": one.number} for one in releases.RELEASES],
        "model": {**_named(releases, *SAME, *LISTS), **_named(tuning, "COLLECTIVES", "GATHERS", "ROOTED")},
        "search": _named(fabric, *SEARCH),
        "cut": {"nvls_chunk": NVLS_CHUNK, "nvls_chunks": NVLS_CHUNKS},
        "protocols": {name: {part: getattr(one, part) for part in PROTOCOL} for name, one in PROTOCOLS.items()},
        "corrected": {"covered": COVERED, "tail": TAIL, "row": LL_ROW, **SHARED},
    }


def described(machine: Machine) -> dict:
    """What helpers.nccl.platforms.Described names, and its title."""
    across = machine.across
    return {**{part: getattr(machine, part) for part in DESCRIBED}, "across": across and across.value}


def _named(module: object, *names: str) -> dict:
    return {name.lower(): getattr(module, name) for name in names}
