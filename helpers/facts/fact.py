"""One published number: what it is, which way it counts, and who says so.

Chapters: units, ring, interconnects.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from helpers.conventions import WORDS, needs
from helpers.plain_file import text_of
from helpers.units import KINDS, Bandwidth, UnitError

Built = TypeVar("Built")
Entry = Mapping[str, Any]  # a table of a .toml file, as it was parsed
HERE = Path(__file__).parent
BANDWIDTHS = {"Gb/s": 1e9 / 8, "GB/s": 1e9, "TB/s": 1e12, "PB/s": 1e15}
# A memory's "80 GB" are 80 * 2**30 bytes as its chips are made, unlike the GB of a bandwidth. A driver shows less: <GPU>.hbm.shown.
OTHERS = {
    "GB": 2**30,
    "GiB": 2**30,
    "MiB": 2**20,
    "MB": 10**6,  # of SRAM on a chip
    "KiB": 2**10,
    "B": 1,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1,
    "minutes": 60,
    "GT/s": 1e9,
    "GHz": 1e9,
    "TFLOP/s": 1e12,
    "TOP/s": 1e12,  # of integers
    "B/clock": 1,
    "FLOP/clock": 1,
    "cycles": 1,
    "SMs": 1,
    "CUs": 1,
    "FP32 lanes": 1,
    "FP64 lanes": 1,
    "Tensor Cores": 1,
    "schedulers": 1,
    "cores": 1,
    "banks": 1,
    "threads": 1,
    "warps": 1,
    "blocks": 1,
    "links": 1,
    "lanes": 1,
    "NICs": 1,
    "GPUs": 1,
    "nodes": 1,
    "switches": 1,
    "entries": 1,
    "dollars": 1,
    "generation": 1,
    "tokens/s": 1,
    "%": 0.01,
    "ratio": 1,
}
HOW = ("read", "cross-checked")
MEMORIES = (".hbm", ".memory", ".sram.bandwidth")  # the keys of what nobody counts by ways: of a memory
SHARED = ", reads and writes together"


class FactError(ValueError):
    """A fact lacks what it must say: a number, a unit, a direction, or a source."""


@dataclass(frozen=True)
class Source:
    """Where a number stands. how: "read" (the document itself) or "cross-checked" (only through others who quote it).

    by: who wrote it, of an article that pages name.
    """

    title: str
    url: str
    checked: date
    how: str
    note: str = ""
    by: str = ""

    def __post_init__(self) -> None:
        if not self.title or not self.url.startswith("https://"):
            raise FactError(f"a source has a title and an https address, got {self.title!r} and {self.url!r}")
        if self.how not in HOW or not isinstance(self.checked, date):
            raise FactError(f"{self.title}: say when it was checked (a date) and how ({' or '.join(HOW)})")


@dataclass(frozen=True)
class Fact:
    """A published number. str(fact) is what a page prints, e.g. "450 GB/s one way per GPU".

    pairs: of FLOPs and of a share of a peak (a key with mfu or hfu), which scores its source counts: a key of helpers.conventions.
    """

    key: str
    value: float
    unit: str
    kind: str
    source: Source
    where: str
    direction: str | None = None
    scope: str | None = None
    per: str | None = None
    pairs: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)) or not math.isfinite(self.value):
            raise FactError(f"{self.key}: a fact is a number, got {self.value!r}")
        if self.unit not in BANDWIDTHS | OTHERS:
            raise FactError(f"{self.key}: unit must be one of {', '.join(BANDWIDTHS | OTHERS)}, got {self.unit!r}")
        if self.kind not in KINDS:
            raise FactError(f"{self.key}: kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        if "pairs" in needs(self.text, self.key) and self.pairs not in WORDS["pairs"]:
            raise FactError(f"{self.key}: pairs must be one of {', '.join(WORDS['pairs'])}, got {self.pairs!r}")
        if not self.where:
            raise FactError(f"{self.key}: say where in {self.source.title} it stands (a table, page or section)")
        if self.unit in BANDWIDTHS:
            _ = self.bandwidth

    @property
    def bandwidth(self) -> Bandwidth:
        """A Bandwidth; FactError where the fact is none, or does not say which way and of what."""
        if self.unit not in BANDWIDTHS:
            raise FactError(f"{self.key} is no bandwidth: it counts in {self.unit}")
        try:
            return Bandwidth(self.value * BANDWIDTHS[self.unit], self.direction or "", self.scope or "", self.kind)
        except UnitError as error:
            raise FactError(f"{self.key}: {error}") from None

    @property
    def quantity(self) -> Bandwidth | float:
        """A Bandwidth where it is one, else the number."""
        return self.bandwidth if self.unit in BANDWIDTHS else self.number

    @property
    def number(self) -> float:
        """In bytes, seconds, transfers, clocks or FLOP per second, or a count; FactError for a bandwidth."""
        if self.unit in BANDWIDTHS:
            raise FactError(f"{self.key} is a bandwidth, {self}: a number alone would not say which way")
        return self.value / 1e6 if self.unit == "µs" else self.value * OTHERS[self.unit]  # 3.4 / 1e6 rounds to 3.4e-6

    @property
    def text(self) -> str:
        """The number with its unit, direction and scope; four significant digits, three if it was fitted."""
        number = f"{self.value:.{3 if self.kind == 'fitted' else 4}g}"
        if self.unit == "generation":
            return f"generation {number}"
        if self.of_memory:
            return f"{number} {self.unit}{SHARED}"
        scope = self.per or self.scope
        parts = (number, None if self.unit == "ratio" else self.unit, self.direction, f"per {scope}" if scope else None)
        return " ".join(part for part in parts if part)

    @property
    def of_memory(self) -> bool:
        """Whether it is the bandwidth of a memory, whose reads and writes share one bus."""
        return self.key.endswith(MEMORIES) and self.unit in BANDWIDTHS

    @property
    def amount(self) -> str:
        """ "64 warps" of "64 warps per SM", for a sentence that says of what; FactError for a link's bandwidth, which always says it."""
        if self.of_memory:
            return self.text.removesuffix(SHARED)
        if self.unit in BANDWIDTHS:
            raise FactError(f"{self.key} is a bandwidth, {self}: it does not go without its scope")
        scope = self.per or self.scope
        return self.text.removesuffix(f" per {scope}")

    def times(self, factor: str) -> str:
        """What so many cost, such as "16" or "4/3" GPU-hours: "63.84 dollars"; FactError for what is not counted per something."""
        if not self.per:
            raise FactError(f"{self.key} is {self}, and that times {factor} means nothing")
        return f"{float(self.value * Fraction(factor)):.4g} {self.unit}"

    @property
    def source_title(self) -> str:
        return self.source.title

    @property
    def source_url(self) -> str:
        return self.source.url

    def __str__(self) -> str:
        return self.text


def build_sources(table: Mapping[str, Entry]) -> dict[str, Source]:
    """The sources of a parsed sources.toml; FactError for one that lacks a title, an address, a date or how it was checked."""
    return {name: _build(Source, f"source {name}", entry) for name, entry in table.items()}


def build_facts(table: Mapping[str, Entry], sources: Mapping[str, Source]) -> dict[str, Fact]:
    """The facts of a parsed file; FactError for one without a known source, or a bandwidth without direction or scope."""
    facts = {}
    for key, entry in table.items():
        if entry.get("source") not in sources:
            raise FactError(f"{key}: a fact needs a source listed in sources.toml, got {entry.get('source')!r}")
        facts[key] = _build(Fact, key, {**entry, "key": key, "source": sources[entry["source"]]})
    return facts


def spread(groups: Mapping[str, Entry], prefix: str = "") -> dict[str, dict[str, Any]]:
    """Facts that share a source, one table a group: {"A100": {"source": ..., "facts": {"sms": {...}}}} -> {"A100.sms": {...}}.

    A fact takes source, where and scope of its group where it names none; it is a "spec" about the "GPU" unless it or the group
    says otherwise. FactError for a group without a source, or a fact that is no table.
    """
    facts = {}
    for group, shared in groups.items():
        named = {part: shared[part] for part in ("source", "where", "scope") if part in shared}
        for name, entry in shared.get("facts", {}).items():
            if not isinstance(entry, Mapping):
                raise FactError(f"{prefix}{group}.{name}: a fact is a table with value, unit and source, got {entry!r}")
            facts[f"{prefix}{group}.{name}"] = {"kind": "spec", "scope": "GPU", **named, **entry}
    return facts


def _build(kind: Callable[..., Built], name: str, entry: Entry) -> Built:
    try:
        return kind(**entry)
    except TypeError as error:
        raise FactError(f"{name}: {error}") from None


def read(name: str) -> dict[str, Any]:
    """One of the .toml files beside this module, parsed."""
    return tomllib.loads(text_of(HERE / f"{name}.toml"))
