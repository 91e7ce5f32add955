"""A network for the alpha-beta model: what a message costs, whoever sends it to whomever.

Chapters: ring, latency-bandwidth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from helpers.facts.fact import Entry, Fact, FactError
from helpers.units import Bandwidth, UnitError, seconds_text


@dataclass(frozen=True)
class Link:
    """Every pair of GPUs joined alike: a message of n bytes takes alpha + n * beta seconds.

    alpha: seconds per message. bandwidth: one way per GPU; UnitError for any other.
    sources: the facts that alpha and bandwidth come from. note: every choice made between them and this record.
    """

    alpha: float
    bandwidth: Bandwidth
    name: str = "a link"
    slug: str = ""
    sources: tuple[Fact, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        number = isinstance(self.alpha, (int, float)) and not isinstance(self.alpha, bool)
        if not (number and math.isfinite(self.alpha) and self.alpha >= 0):
            raise UnitError(f"alpha is a number of seconds, 0 or more, got {self.alpha!r}")
        if not isinstance(self.bandwidth, Bandwidth):
            raise UnitError(f"a link takes a Bandwidth that says one way per GPU, got {self.bandwidth!r}")
        if (self.bandwidth.direction, self.bandwidth.scope) != ("one way", "GPU"):
            how = self.bandwidth.conversion("one way", "GPU")
            raise UnitError(f"a link takes a bandwidth one way per GPU, got {self.bandwidth}: {how}")

    @property
    def beta(self) -> float:
        """Seconds per byte."""
        return 1 / self.bandwidth.value

    def link(self, src: int, dst: int) -> Link:
        """The link between two ranks: always this one. A topology answers the same call with a different one."""
        return self

    def seconds(self, nbytes: float) -> float:
        """How long one message of `nbytes` takes."""
        return self.alpha + nbytes * self.beta

    def __str__(self) -> str:
        return f"{self.name}: {seconds_text(self.alpha)} per message, {self.bandwidth}"


def build_links(table: Mapping[str, Entry], facts: Mapping[str, Fact]) -> dict[str, Link]:
    """The networks of a parsed networks.toml, by slug; each pairs one latency fact with one bandwidth fact."""
    return {slug: _link(slug, entry, facts) for slug, entry in table.items()}


def _link(slug: str, entry: Entry, facts: Mapping[str, Fact]) -> Link:
    missing = [entry.get(part) for part in ("alpha", "bandwidth") if entry.get(part) not in facts]
    if missing or not entry.get("note"):
        raise FactError(f"{slug}: a network names two facts (alpha, bandwidth) and its note; not found: {missing}")
    alpha, bandwidth = facts[entry["alpha"]], facts[entry["bandwidth"]]
    return Link(alpha.number, bandwidth.bandwidth, entry["name"], slug, (alpha, bandwidth), entry["note"].strip())
