"""Tables of measurements that others published: recorded/public/*.json.

Chapters: latency-bandwidth, benchmarking, inside-nccl.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from helpers.facts.fact import FactError
from helpers.plain_file import text_of

PUBLIC = Path(__file__).parents[2] / "recorded" / "public"


@dataclass(frozen=True)
class Table:
    """A published table, unchanged. rows: one dict a row, units in `units`; nranks and collective: None where rows differ.

    source: title, url, author, date (of publication), where, checked. measured: the day of the run if it is stated.
    not_stated: what a careful reader would ask and the page does not say.
    """

    name: str
    source: Mapping[str, str | None]
    collective: str | None
    nranks: int | None
    machine: str
    software: str
    measured: str | None
    command: str | None
    meaning: str
    not_stated: tuple[str, ...]
    units: Mapping[str, str]
    rows: tuple[Mapping[str, float | str | bool | list[float] | None], ...]

    def __post_init__(self) -> None:
        lacking = [part for part in ("title", "url", "where", "checked") if not self.source.get(part)]
        if lacking or not self.rows or not self.machine:
            raise FactError(f"{self.name}: a published table needs rows, a machine and a source; it lacks {lacking}")

    def column(self, name: str) -> list[Any]:
        """One column, top to bottom; KeyError naming the columns there are."""
        if name not in self.rows[0]:
            raise KeyError(f"{self.name} has no column {name!r}; it has {', '.join(self.rows[0])}")
        return [row[name] for row in self.rows]


def public(name: str) -> Table:
    """The published table of that name, e.g. public("nccl-tests-4xh100-all_reduce"); KeyError naming those there are."""
    try:
        text = text_of(PUBLIC / f"{name}.json")
    except OSError:
        names = public_names()
        close = get_close_matches(name, names, n=3, cutoff=0.3) or names
        raise KeyError(f"no published table {name!r}; close: {', '.join(close)}") from None
    return build_table(name, json.loads(text))


def build_table(name: str, data: Mapping[str, Any]) -> Table:
    """The table of a parsed .json file; FactError for one that lacks a field or its source."""
    try:
        return Table(name=name, **{**data, "rows": tuple(data["rows"]), "not_stated": tuple(data["not_stated"])})
    except (KeyError, TypeError) as error:
        raise FactError(f"{name}: {error}") from None


def public_names() -> list[str]:
    """The names of all published tables."""
    return sorted(path.stem for path in PUBLIC.glob("*.json"))
