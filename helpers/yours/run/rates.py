"""What the GPUs of a run reach, beside what is published of their kind: products, memory, the host, each other. Chapter: yours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from helpers.facts import FACTS
from helpers.units import bandwidth_text
from helpers.yours.causes import cause
from helpers.yours.places import NAMES, Place, accelerator_of
from helpers.yours.run.fields import listed, number, word
from helpers.yours.tables.slow import HALF, HEALTHY
from helpers.yours.verdict import Cause

FACTS_OF = ("flops.bf16", "matmul.bf16", "hbm")  # of a GPU, what its rates are held against
SHEET, BEST = "the data sheet", "the best that was published"


class Bound(NamedTuple):
    """value: what `of` says. least: the share of it below which a GPU is accused."""

    value: float
    of: str
    least: float


class Rate(NamedTuple):
    """name: of the cause where it is low. what, said: "memory", "4299 GB/s both ways". bounds: it is held against; the last decides."""

    name: str
    what: str
    said: str
    value: float
    bounds: Sequence[Bound]

    def __str__(self) -> str:
        return ", ".join([f"{self.what} {self.said}", *self._shares()])

    @property
    def short(self) -> str:
        """Only what decides, where something does."""
        return f"{self.what} {self._shares()[-1]}" if self.bounds else str(self)

    def _shares(self) -> list[str]:
        return [f"{self.value / bound.value:.0%} of {bound.of}" for bound in self.bounds]

    @property
    def causes(self) -> list[Cause]:
        """One where it is low, else none."""
        low = self.bounds and self.value < self.bounds[-1].least * self.bounds[-1].value
        return [cause(self.name, str(self))] if low else []


def published_rates() -> dict[str, dict[str, float]]:
    """{"H100": {"flops.bf16": FLOP/s, "matmul.bf16": FLOP/s, "hbm": bytes per second}, ...}, as far as somebody publishes them."""
    facts = {key: {name: FACTS[f"{key}.{name}"] for name in FACTS_OF if f"{key}.{name}" in FACTS} for _, key in NAMES}
    return {
        key: {name: fact.bandwidth.value if name == "hbm" else fact.number for name, fact in found.items()}
        for key, found in facts.items()
    }


def rates_of(records: Mapping[str, Any], gpus: Sequence[str], place: Place | None) -> list[Rate]:
    """Those that the run has, in the order in which they stand here. gpus: their names."""
    known = published_rates().get(accelerator_of(gpus[0]) or "", {}) if len(set(gpus)) == 1 else {}
    found = [_products(records, known), _memory(records, known), _host(records, place), _pairs(records, place)]
    return [rate for rate in found if rate]


def _products(records: Mapping[str, Any], known: Mapping[str, float]) -> Rate | None:
    if "gpu-roofline" not in records:
        return None
    value, dtype = number(records, "gpu-roofline", "data", "flops"), word(records, "gpu-roofline", "data", "dtype")
    bounds = [("flops.bf16", SHEET, HALF), ("matmul.bf16", BEST, HEALTHY)] if dtype == "bfloat16" else []
    said = f"{value / 1e12:.4g} TFLOP/s in {dtype}"
    return Rate("slow products", "matrix products", said, value, _bounds(known, bounds))


def _memory(records: Mapping[str, Any], known: Mapping[str, float]) -> Rate | None:
    """Of the ladder the flat part that is memory, if it has one."""
    way = "gpu-ladder", "data", "steps"
    found = [i for i in _rows(records, *way) if word(records, *way, i, "level") == "memory"]
    if not found:
        return None
    value = number(records, *way, found[-1], "bandwidth")
    bounds = _bounds(known, [("hbm", SHEET, HEALTHY)])
    return Rate("slow memory", "memory", f"{bandwidth_text(value)} both ways", value, bounds)


def _host(records: Mapping[str, Any], place: Place | None) -> Rate | None:
    """The slower way of the two, pinned, at the largest size."""
    way = "gpu-transfers", "data"
    rows = [
        (number(records, *way, i, "nbytes"), number(records, *way, i, "bandwidth"))
        for i in _rows(records, *way)
        if word(records, *way, i, "host") == "pinned" and word(records, *way, i, "way") in ("to the GPU", "to the host")
    ]
    if not rows:
        return None
    largest = max(nbytes for nbytes, _ in rows)
    value = min(bandwidth for nbytes, bandwidth in rows if nbytes == largest)
    bounds = [Bound(place.slot, "what its PCIe slot passes", HEALTHY)] if place and place.slot else []
    return Rate("narrow slot", "host and GPU", f"{bandwidth_text(value)} one way", value, bounds)


def _pairs(records: Mapping[str, Any], place: Place | None) -> Rate | None:
    """The slowest way from one GPU to another. Only behind a switch are all alike."""
    way = "gpu-pairs", "data", "bandwidth"
    rates = [
        number(records, *way, i, j) for i in _rows(records, *way) for j in range(listed(records, *way, i)) if i != j
    ]
    if not rates:
        return None
    value = min(rates)
    bounds = [Bound(place.inside, "the line rate", HEALTHY)] if place and place.shape == "switch" else []
    return Rate("slow pair", "the slowest pair of GPUs", f"{bandwidth_text(value)} one way", value, bounds)


def _rows(records: Mapping[str, Any], name: str, *way: str) -> range:
    """The places in the list that is there; none of a record that the run does not have."""
    return range(listed(records, name, *way)) if name in records else range(0)


def _bounds(known: Mapping[str, float], wanted: Sequence[tuple[str, str, float]]) -> list[Bound]:
    return [Bound(known[name], of, least) for name, of, least in wanted if name in known]
