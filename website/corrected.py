"""Sentences of this book that were published and wrong or misleading: when they were set right, how, and what holds them now.

One list, in the files of website/corrections, one for each part of the book. An entry:

    [[correction]]
    date = 2026-11-27
    where = ["book/ranks.md", "notebooks/ranks.ipynb"]
    said = "and then names no line"                 # a literal piece of the old sentence: it stands in none of these files
    now = "names the lines of those that wait"      # a literal piece of the new one, in the first; "" where it is gone
    why = "torch logs the stack of each rank that waits; what it cannot name is the missing rank."
    source = "https://github.com/pytorch/pytorch/pull/139659"   # an address, "torch 2.13, file:line", or "run: ..."
    held = "notebooks/ranks.ipynb"                  # the test, the lab with its claim, or the facts; "" where nothing can
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date as Date
from pathlib import Path

FOLDER = Path(__file__).with_name("corrections")


@dataclass(frozen=True)
class Correction:
    """One sentence; paths are from the repository's root."""

    date: Date
    where: tuple[str, ...]
    said: str
    now: str
    why: str
    source: str
    held: str

    def __post_init__(self) -> None:
        if not (isinstance(self.date, Date) and self.where and self.said and self.why and self.source):
            raise ValueError(f"a correction has a date, a place, what was said, why and a source, got {self!r}")


def corrections(folder: Path = FOLDER) -> list[Correction]:
    """All of them, the oldest first. ValueError or TypeError for an entry that is not whole."""
    found = [
        Correction(**{**entry, "where": tuple(entry["where"])})
        for path in sorted(folder.glob("*.toml"))
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["correction"]
    ]
    return sorted(found, key=lambda one: one.date)
