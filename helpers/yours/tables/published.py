"""The public tables as runs that a reader's own can stand beside. Chapter: yours.

Only runs as NCCL chose: what was forced or switched off is no plateau.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from helpers.collectives import PROMISES
from helpers.facts import Table, public
from helpers.nccl.runs import TABLE, runs
from helpers.units import nbytes_text
from helpers.yours.verdict import Point

GB = 1e9
TABLES = {  # and their GPU, where the rows do not name it
    "nccl-tests-4xh100-all_reduce": "H100",
    "torch-4xh100-all_reduce": "H100",
    "torch-8xh200-all_reduce": "H200",
    "nccl-tests-8xa100-all_reduce": "A100",
    "nccl-tests-8xh200-collectives": "H200",
    "nccl-tests-h200-b200-nvls": "",
}


class Published(NamedTuple):
    """One run. version: of NCCL, "" where its source does not say."""

    title: str
    url: str
    gpu: str
    collective: str
    nranks: int
    version: str
    points: tuple[Point, ...]


def bus_factor(collective: str | None, nranks: int | None) -> float | None:
    """busbw = algbw times this; None where it is not known. nccl-tests calls all_to_all alltoall."""
    name = {"alltoall": "all_to_all"}.get(collective or "", collective)
    return PROMISES[name].bus_factor(nranks) if name in PROMISES and nranks else None


@lru_cache(maxsize=1)
def published() -> tuple[Published, ...]:
    """Every run, the six GPUs' first."""
    found = list(_six())
    for name, gpu in TABLES.items():
        found += _of_table(public(name), gpu)
    return tuple(found)


def _six() -> list[Published]:
    url = public(TABLE).source["url"] or ""
    return [_run("nccl-tests", url, run.gpu, run.collective, run.nranks, run.version, run.by_size()) for run in runs()]


def _of_table(table: Table, gpu: str) -> list[Published]:
    """Rows of one GPU, collective and number of ranks are a run; those with NVLS switched off are left out."""
    cells: dict[tuple[Any, Any, Any], list[tuple[int, float]]] = {}
    rows: Sequence[Mapping[str, Any]] = table.rows
    for row in rows:
        kind, nranks = row.get("collective") or table.collective, row.get("nranks") or table.nranks
        factor = bus_factor(kind, nranks)
        if row.get("nvls") is False or factor is None:
            continue
        nbytes, key = row["nbytes"], (row.get("gpu") or gpu, kind, nranks)
        cells.setdefault(key, []).append((nbytes, row.get("seconds") or nbytes * factor / (row["busbw"] * GB)))
    version = "2.26.2" if "2.26.2" in table.software else "2.27.7" if "2.27.7" in table.software else ""
    by = "torch" if table.name.startswith("torch") else "nccl-tests"
    return [_run(by, table.source["url"] or "", *key, version, made) for key, made in cells.items()]


def _run(
    by: str, url: str, gpu: str, collective: str, nranks: int, version: str, rows: list[tuple[int, float]]
) -> Published:
    factor = bus_factor(collective, nranks) or 1.0
    nccl = f", NCCL {version}" if version else ""
    points = tuple(Point(nbytes, seconds, nbytes / seconds * factor) for nbytes, seconds in rows)
    size = f" of {nbytes_text(rows[0][0])}" if len(rows) == 1 else ""
    return Published(
        f"{collective}{size} on {nranks} {gpu}{nccl}, by {by}", url, gpu, collective, nranks, version, points
    )
