"""What differs between torch 2.11 and 2.15, as far as this library and its pages meet it. Page: setup.

The table is helpers/torch_versions.toml.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from helpers.plain_file import text_of

PIN = 2, 13  # that `make` installs, in whose source the course was read, and with which stored outputs were made
OLDEST, NEWEST = (2, 11), (2, 15)  # that were tried: recorded/torches
KINDS = "names", "moments", "types", "texts", "counters"


@dataclass(frozen=True)
class Change:
    """before, after: what was so up to `since`, and what is from that release on. read_in: files that go by it. cells: by id."""

    key: str
    since: str
    kind: str
    what: str
    before: str
    after: str
    read_in: tuple[str, ...]
    cells: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS or not OLDEST < numbers(self.since) <= NEWEST:
            raise ValueError(
                f"{self.key}: one of {', '.join(KINDS)} since a release up to 2.15, got {self.kind!r}, {self.since!r}"
            )

    def of(self, version: str) -> bool:
        """Is it there in that version?"""
        return numbers(version) >= numbers(self.since)


def numbers(version: str) -> tuple[int, int]:
    """The first two of a version: (2, 15) of "2.15.0+cu132". ValueError where there are none."""
    if not (found := re.match(r"(\d+)\.(\d+)", version)):
        raise ValueError(f"a version of torch begins as 2.13 does, got {version!r}")
    return int(found[1]), int(found[2])


@cache
def changes() -> dict[str, Change]:
    """By key, in the table's order."""
    found = tomllib.loads(text_of(Path(__file__).with_suffix(".toml")))["change"]
    told = [Change(**{**one, "read_in": tuple(one["read_in"]), "cells": tuple(one.get("cells", ()))}) for one in found]
    return {one.key: one for one in told}


def has(key: str, version: str) -> bool:
    """Does torch of that version have the change? KeyError for one that is not in the table."""
    return changes()[key].of(version)


def cells(version: str) -> dict[str, str]:
    """Cells of labs whose output is another there than under the pin, by id, each with the change that makes it so."""
    pin = "{}.{}".format(*PIN)
    return {cell: one.key for one in changes().values() if one.of(version) != one.of(pin) for cell in one.cells}
