"""Runs as gpu-check packs them, made of published times and rates: whole ones, slow ones, and some whose checks failed."""

from __future__ import annotations

import copy
from typing import Any

from made_tables import run, times

from helpers.facts import FACTS
from helpers.yours.places import gpu_place
from helpers.yours.run.rates import published_rates
from helpers.yours.tables.printing import NAMES
from helpers.yours.tables.published import bus_factor

VERSIONS = {"python": "3.12.3", "torch": "2.13.0+cu130", "cuda": "13.0", "nccl": "2.29.2"}
MACHINE = {"cpu": "a processor", "cores": 16, "memory_gib": 126, "system": "Linux x86_64"}
RANKS = "RankError: the ranks could not start: rank{} raised AttributeError: nothing of that name"
CHECKS = ("ranks start", "what is here", "memory, predicted", "roofline", "bandwidth", "nothing is left")


def made_run(
    gpu: str = "H200",
    count: int = 8,
    slower: float = 1.0,
    share: float = 0.8,
    failed: tuple[str, ...] = (),
    name: str | None = None,
) -> dict[str, Any]:
    """All records. slower: than the published run. share: of what is published of one GPU. failed: of CHECKS. name: as CUDA has it."""
    name = name or NAMES[gpu]
    data = {
        "gpu-check": {one: {"outcome": "failed" if one in failed else "passed", "seconds": 1.5} for one in CHECKS},
        "gpu-roofline": {"dtype": "bfloat16", "flops": share * published_rates()[gpu]["flops.bf16"]},
        "gpu-ladder": {
            "steps": [{"level": "L2", "bandwidth": 6e12}, {"level": "memory", "bandwidth": share * hbm(gpu)}]
        },
        "gpu-transfers": [transfer(way, host, share * slot(gpu)) for way in WAYS for host in ("pinned", "pageable")],
    }
    for number, one in enumerate(failed):
        data["gpu-check"][one] |= {
            "why": RANKS.format(f" {number}") if "memory" not in one else "AssertionError: far off"
        }
    if count > 1:
        data["gpu-bandwidth"] = {one: table(gpu, one, count, slower) for one in ("all_reduce", "all_gather")}
        data["gpu-pairs"] = {"bandwidth": [[None if i == j else 390e9 for j in range(count)] for i in range(count)]}
    about = {
        "label": f"{max(2, count)} ranks, nccl, {count} x {name}",
        "machine": MACHINE | {"gpus": [name] * count},
        "versions": VERSIONS,
        "date": "2026-11-27",
        "command": "python -m tools.gpu_check --backend nccl",
    }
    return copy.deepcopy({"records": {key: {"name": key, "data": one, **about} for key, one in data.items()}})


WAYS = ("to the GPU", "to the host", "both at once")


def hbm(gpu: str) -> float:
    return FACTS[f"{gpu}.hbm"].bandwidth.value


def slot(gpu: str) -> float:
    place = gpu_place([NAMES[gpu]])
    return place.slot if place and place.slot else 60e9


def transfer(way: str, host: str, rate: float) -> dict[str, Any]:
    return {"way": way, "host": host, "nbytes": 1 << 28, "seconds": (1 << 28) / rate, "bandwidth": rate}


def table(gpu: str, collective: str, count: int, slower: float) -> list[dict[str, float]]:
    version = {"A100": "2.27.3", "L40S": "2.27.3"}.get(gpu, "2.29.2")
    factor = bus_factor(collective, count)
    lines = []
    for nbytes, seconds in times(run(gpu, collective, count, version)).items():
        least, algbw = seconds * slower, nbytes / (seconds * slower)
        lines.append({"nbytes": nbytes, "min": least, "median": least * 1.1, "algbw": algbw, "busbw": algbw * factor})
    return lines
