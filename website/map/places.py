"""Where every chapter lies, as website/map/places.toml has it, and what a border lets through."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from helpers.facts import ACCELERATORS, lookup
from helpers.units import Bandwidth

DATA = Path(__file__).with_name("places.toml")
GPU = ACCELERATORS["H100"]
# What one GPU moves at most inside and over the border of each scale; widths on the map are these, to one scale.
WAYS: dict[str, Bandwidth] = {
    "sm": GPU.shared_bandwidth,
    "gpu": GPU.hbm.bandwidth,
    "node": lookup("H100.nvlink").bandwidth,
    "cluster": lookup("infiniband-ndr.gpu").bandwidth,
}


class Scale(NamedTuple):
    """key: "sm" to "cluster", or "desk", which is none. way: what the bytes travel on there. places: by page, across and rail."""

    key: str
    name: str
    way: str
    places: dict[str, tuple[float, float]]


def scales() -> tuple[Scale, ...]:
    """All of them, from the register to the rack."""
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))["scales"]
    return tuple(
        Scale(key, one["name"], one["way"], {f"book/{stem}": tuple(at) for stem, at in one["chapters"].items()})
        for key, one in data.items()
    )


def faults(pages: Iterable[str]) -> list[str]:
    """What keeps the map from being that of a book with these chapters: a chapter without a place, a place twice or without one."""
    placed = [page for scale in scales() for page in scale.places]
    pages = set(pages)
    return [
        *(f"{page} has no place on the map: give it one in {DATA.name}" for page in sorted(pages - set(placed))),
        *(f"{page} has a place on the map and no page" for page in placed if page not in pages),
        *(f"{page} has two places on the map" for page in sorted({page for page in placed if placed.count(page) > 1})),
    ]


def told(key: str) -> str:
    """What is said of the way at a scale, in the words of its fact."""
    gbps = WAYS[key].value / 1e9
    if key == "sm":
        return f"{gbps / 1000:.3g} TB/s"
    return {"gpu": GPU.hbm.amount, "node": lookup("H100.nvlink").text, "cluster": lookup("infiniband-ndr.gpu").text}[
        key
    ]
