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
from helpers.yours.places import AS
from helpers.yours.verdict import Point

GB = 1e9
TABLES = {  # and their GPU, where the rows do not name it
    "nccl-tests-4xh100-all_reduce": "H100",
    "torch-4xh100-all_reduce": "H100",
    "torch-8xh200-all_reduce": "H200",
    "nccl-tests-8xa100-all_reduce": "A100",
    "nccl-tests-8xh200-collectives": "H200",
    "nccl-tests-h200-b200-nvls": "",
    "nccl-tests-several-nodes": "",
}


class Published(NamedTuple):
    """One run. version: of NCCL, "" where its source does not say. nodes: how many hosts. ports: of one node, bytes per second one way; 0
    where all GPUs were in one domain.
    """

    title: str
    url: str
    gpu: str
    collective: str
    nranks: int
    version: str
    points: tuple[Point, ...]
    nodes: int = 1
    ports: float = 0.0


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
    """Rows of one run, GPU, collective and number of ranks are a run; those with NVLS switched off are left out."""
    cells: dict[tuple[Any, ...], list[tuple[int, float]]] = {}
    first: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    rows: Sequence[Mapping[str, Any]] = table.rows
    for row in rows:
        kind, nranks = row.get("collective") or table.collective, row.get("nranks") or table.nranks
        factor = bus_factor(kind, nranks)
        if row.get("nvls") is False or factor is None or not (row.get("seconds") or row["busbw"] > 0.1):
            continue
        nbytes, key = row["nbytes"], (row.get("run"), row.get("gpu") or gpu, kind, nranks)
        cells.setdefault(key, []).append((nbytes, row.get("seconds") or nbytes * factor / (row["busbw"] * GB)))
        first.setdefault(key, row)
    told = next((known for known in ("2.26.2", "2.27.7") if known in table.software), "")
    made = []
    for which, points in cells.items():
        row, (_, name, kind, nranks) = first[which], which
        by = row.get("by") or ("torch" if table.name.startswith("torch") else "nccl-tests")
        one = _run(by, row.get("url") or table.source["url"] or "", name, kind, nranks, row.get("nccl") or told, points)
        made.append(_between(one, row) if row.get("run") else one)
    return made


def _between(run: Published, row: Mapping[str, Any]) -> Published:
    """A run over several hosts: its title says over how many, and by what."""
    ports = 0.0 if row["network"] == "NVLink" else row["nics"] * row["port"] / 8 * GB
    title = f"{run.title}, {row['run']} over {row['network']}"
    return run._replace(title=title, gpu=AS.get(run.gpu, run.gpu), nodes=row["nodes"], ports=ports)


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
