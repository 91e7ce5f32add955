"""The few shapes that sketches are made of, in the player's own classes: a rank is a rounded square, a chunk a cell with slots.

Every sketch is WIDTH pixels wide, so that a telephone shows its letters as large as a screen does. Chapters: ring, trees and more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 332  # pixels: a telephone's column
LETTERS = 12  # pixels of a letter, and no less than 11 anywhere


@dataclass(frozen=True)
class Moment:
    """What a reader can stop at. at: how far the marker is moved, in pixels from where it is drawn; said: one sentence."""

    at: float
    said: str


@dataclass(frozen=True)
class Sketch:
    """A picture that is whole without a script. told: the same for readers of screens; body: what stands inside its svg.

    moments: what plays once when it comes into view, part by part; rest: the last of them, at which all is drawn.
    slider: what a reader moves through the moments, "" where there is nothing to move.
    """

    title: str
    told: str
    height: float
    body: str
    moments: tuple[Moment, ...]
    rest: int
    slider: str = ""


def element(name: str, attributes: dict[str, object], *children: str) -> str:
    """<name attributes>children</name>; an attribute's `_` is written `-`, one that is None is left out."""
    told = "".join(
        f' {key.replace("_", "-")}="{_text(value)}"' for key, value in attributes.items() if value is not None
    )
    return f"<{name}{told}>{''.join(children)}</{name}>"


def _text(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else escape(str(value))


def rect(
    kind: str, x: float, y: float, width: float, height: float, rx: float | None = None, since: int | None = None
) -> str:
    """since: the moment from which on it is there."""
    place = {"x": float(x), "y": float(y), "width": float(width), "height": float(height)}
    return element("rect", {"class": kind, **place, "rx": rx, "data_since": since})


def line(kind: str, *points: tuple[float, float]) -> str:
    return element(
        "path", {"class": kind, "d": "M" + "L".join(f"{_text(float(x))} {_text(float(y))}" for x, y in points)}
    )


def label(kind: str, x: float, y: float, said: object, size: float = LETTERS) -> str:
    return element("text", {"class": kind, "x": x, "y": y, "font_size": size}, escape(str(said)))


def group(kinds: str, *children: str, since: int | None = None) -> str:
    """since: as of a rect."""
    return element("g", {"class": kinds, "data_since": since}, *children)


def mark(*names: str) -> str:
    """The classes by which words light it: mark("chunk 0", "rank 2")."""
    return " ".join(f"bim-is-{name.replace(' ', '-')}" for name in names)


def badge(rank: int, x: float, y: float, size: float = 24) -> str:
    """A rank, its number inside."""
    square = rect("bim-rank", x - size / 2, y - size / 2, size, size, size / 5)
    return group(f"bim-badge bim-r{rank % 8} {mark(f'rank {rank}')}", square, label("", x, y, rank))


def cell(counts: Sequence[int], x: float, y: float, width: float, height: float) -> str:
    """A chunk, a slot for each origin rank: filled where its contribution is inside."""
    pitch = (width - 4) / len(counts)
    slots = (
        rect(
            f"bim-slot {'bim-full' if n else 'bim-empty'} bim-r{i % 8}",
            x + 2.5 + i * pitch,
            y + 3,
            pitch - 1,
            height - 6,
        )
        for i, n in enumerate(counts)
    )
    return group("bim-cell", rect("bim-frame", x + 0.5, y + 0.5, width - 1, height - 1, 4), *slots)


def arrow(x1: float, x2: float, y: float) -> str:
    """To the right, with its head."""
    head = element("path", {"class": "bim-arrow", "d": f"M{x2:g} {y:g}l-6 -4v8z"})
    return line("bim-carry", (x1, y), (x2 - 5, y)) + head
