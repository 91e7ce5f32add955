"""What the page must know of the published runs, in few bytes: whole nanoseconds, each size told by its difference from the one before.

`data/runs.mjs` unpacks it, tested equal. The tables' provenance travels along, so that it is one click away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import groupby

from helpers.facts import public
from helpers.nccl.published import Model, Published, published
from helpers.view.published.words import BY

SOURCE = ("title", "url", "author", "date", "checked", "licence", "where")


@lru_cache(maxsize=1)
def known() -> dict[str, object]:
    """tables: provenance by name, in order. runs: a list each, in the order of `row`. models: those that runs point at."""
    runs = published()
    models = list(dict.fromkeys(run.model for run in runs if run.model))
    tables = list(dict.fromkeys(run.table for run in runs))
    return {
        "tables": [provenance(name) for name in tables],
        "runs": [row(run, tables.index(run.table), _place(models, run.model)) for run in runs],
        "models": [[steps([model.nanoseconds] for model in one), ways(one)] for one in models],
    }


def row(run: Published, table: int, model: int) -> list[object]:
    """One run; table, model: their places, -1 where there is no model. The first size is a power of two."""
    told = [run.gpu, run.collective, run.nranks, run.dtype, run.version, run.folder, run.setting]
    return [*told, table, run.first.bit_length() - 1, steps(run.times), model, int(run.worked_out)]


def steps(cells: Iterable[Iterable[int]]) -> str:
    """ "8980 100 -20,30": the least of each size is told from that of the size before, the others of a size from the one before."""
    said, before = [], 0
    for cell in cells:
        first, *more = cell
        apart = [one - other for one, other in zip(more, [first, *more], strict=False)]
        said.append(",".join(map(str, [first - before, *apart])))
        before = first
    return " ".join(said)


def ways(models: Iterable[Model]) -> list[list[object]]:
    """[["Ring LL", 12], ["NVLS Simple", 9]]: how many sizes in a row go one way."""
    return [[way, len(list(group))] for way, group in groupby(model.way for model in models)]


def provenance(name: str) -> Mapping[str, object]:
    """All that a published table says of itself but its rows."""
    table = public(name)
    told = {part: table.source.get(part) for part in SOURCE}
    told |= {part: getattr(table, part) for part in ("machine", "software", "command", "measured", "meaning")}
    return {"name": name, "by": BY[name], **told, "not_stated": list(table.not_stated)}


def _place(models: list[tuple[Model, ...]], model: tuple[Model, ...] | None) -> int:
    return -1 if model is None else models.index(model)
