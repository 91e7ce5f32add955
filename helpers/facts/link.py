"""A network for the alpha-beta model: what a call costs, what a message costs, whoever sends it to whomever.

A machine's library has several protocols for one wire, and each has a latency and a bandwidth of its own (NCCL: LL, LL128 and Simple).
A Link that knows them is a Link for each; one that knows none is a line and nothing else. Chapters: ring, latency-bandwidth, inside-nccl.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from helpers.facts.fact import Entry, Fact, FactError
from helpers.units import Bandwidth, UnitError, seconds_text


@dataclass(frozen=True)
class Link:
    """Every pair of GPUs joined alike: a collective costs `call` seconds, and each of its messages of n bytes alpha + n * beta.

    alpha: seconds per message. bandwidth: one way per GPU; UnitError for any other. call: seconds per collective.
    protocols: the same wire under each protocol, by name of `protocol`; the link itself is then as its last one, which has the
    highest bandwidth. switch: what joins the GPUs, if it adds; streams: this is the way through one. sources: the facts that all
    of it comes from. note: every choice made between them and this record. line: the rate of the wire itself. reached: what NCCL gets
    of it, where `bandwidth` is the line's; None where `bandwidth` was fitted to runs, or nobody told.
    """

    alpha: float
    bandwidth: Bandwidth
    name: str = "a link"
    slug: str = ""
    sources: tuple[Fact, ...] = ()
    note: str = ""
    call: float = 0.0
    protocol: str = ""
    protocols: tuple[Link, ...] = ()
    switch: Switch | None = None
    streams: bool = False
    line: Bandwidth | None = None
    reached: Bandwidth | None = None

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("call", self.call)):
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not (number and math.isfinite(value) and value >= 0):
                raise UnitError(f"{name} is a number of seconds, 0 or more, got {value!r}")
        if not isinstance(self.bandwidth, Bandwidth):
            raise UnitError(f"a link takes a Bandwidth that says one way per GPU, got {self.bandwidth!r}")
        if (self.bandwidth.direction, self.bandwidth.scope) != ("one way", "GPU"):
            how = self.bandwidth.conversion("one way", "GPU")
            raise UnitError(f"a link takes a bandwidth one way per GPU, got {self.bandwidth}: {how}")

    @property
    def beta(self) -> float:
        """Seconds per byte."""
        return 1 / self.bandwidth.value

    @property
    def achievable(self) -> Link:
        """The same network at the bandwidth that NCCL reaches on it, as NVLink's fitted one is; itself where nobody told."""
        if self.reached is None:
            return self
        share = self.reached.value / self.bandwidth.value
        protocols = tuple(replace(one, bandwidth=one.bandwidth * share) for one in self.protocols)
        return replace(self, bandwidth=self.reached, reached=None, protocols=protocols)

    def link(self, src: int, dst: int) -> Link:
        """The link between two ranks: always this one. A topology answers the same call with a different one."""
        return self

    def seconds(self, nbytes: float) -> float:
        """How long one message of `nbytes` takes."""
        return self.alpha + nbytes * self.beta

    def by(self, protocol: str) -> Link:
        """The same wire under one protocol; a link that knows none is the same under each. ValueError naming those there are."""
        known = {one.protocol: one for one in self.protocols}
        if known and protocol not in known:
            raise ValueError(f"{self.name} knows {', '.join(known)}; got {protocol!r}")
        return known.get(protocol, self)

    def __str__(self) -> str:
        call = f"{seconds_text(self.call)} per call, " if self.call else ""
        by = f", {self.protocol}" if self.protocols else ""
        return f"{self.name}{by}: {call}{seconds_text(self.alpha)} per message, {self.bandwidth}"


@dataclass(frozen=True)
class Switch:
    """A switch that adds and multicasts what goes through it (NVLS). It works while data comes in: what goes up, through and down again
    overlaps, so that a collective lasts `call` and as long as its busiest port has bytes to pass.

    bandwidth: of a GPU's port, one way. head: each GPU reads the sums of its own share, which passes at no more than that.
    """

    call: float
    bandwidth: Bandwidth
    head: Bandwidth
    name: str = ""

    def line(self, nranks: int) -> Link:
        """Between the switch and any of so many GPUs. A port passes 1 + 1/nranks buffers in an all_reduce, and a head 1/nranks."""
        heads = self.head.times(nranks + 1, "GPU")
        return Link(0.0, min(self.bandwidth, heads), self.name, call=self.call, protocol="Simple", streams=True)


def build_links(table: Mapping[str, Entry], facts: Mapping[str, Fact]) -> dict[str, Link]:
    """The networks of a parsed networks.toml, by slug: facts for its bandwidth, its protocols and its switch."""
    return {slug: _link(slug, entry, facts) for slug, entry in table.items()}


def _link(slug: str, entry: Entry, facts: Mapping[str, Fact]) -> Link:
    lines, switch = entry.get("protocols") or {}, entry.get("switch")
    asked = [entry.get("bandwidth"), *(key for line in (*lines.values(), switch or {}) for key in line.values())]
    asked += [entry[part] for part in ("line", "achievable") if part in entry]
    missing = [key for key in asked if key not in facts]
    if missing or not lines or not entry.get("note"):
        raise FactError(
            f"{slug}: a network names facts (bandwidth, protocols with call and alpha) and its note; not found: {missing}"
        )
    name, sources = entry["name"], tuple(facts[key] for key in dict.fromkeys(asked))
    whole = facts[entry["bandwidth"]].bandwidth
    protocols = tuple(_line(f"{name}, {protocol}", protocol, line, whole, facts) for protocol, line in lines.items())
    return replace(
        protocols[-1],
        name=name,
        slug=slug,
        sources=sources,
        note=entry["note"].strip(),
        protocols=protocols,
        switch=switch and _switch(name, switch, facts),
        line=facts[entry.get("line", entry["bandwidth"])].bandwidth,
        reached=facts[entry["achievable"]].bandwidth if "achievable" in entry else None,
    )


def _line(name: str, protocol: str, line: Entry, whole: Bandwidth, facts: Mapping[str, Fact]) -> Link:
    """share: of the bandwidth, what is data under this protocol; all of it where nothing is said."""
    share = facts[line["share"]].number if "share" in line else 1.0
    bandwidth = replace(whole, value=whole.value * share)
    return Link(facts[line["alpha"]].number, bandwidth, name, call=facts[line["call"]].number, protocol=protocol)


def _switch(name: str, entry: Entry, facts: Mapping[str, Fact]) -> Switch:
    bandwidth, head = (facts[entry[part]].bandwidth for part in ("bandwidth", "head"))
    return Switch(facts[entry["call"]].number, bandwidth, head, f"{name}, through its switch")
