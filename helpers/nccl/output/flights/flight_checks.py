"""What a field of the flight recorder's dump must be, or an error that names it. Chapter: hangs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

MOST_RANKS = 1 << 20  # of one job
MOST_EXTENTS = 64  # of a tensor: torch's own limit
# A pickle may name one list a million times, so a short file can hold much; a dump of 20,000 operations with their stacks is far below.
MOST_FRAMES = 1 << 22  # with the entries
MOST_TENSORS = 1 << 18
MOST_LETTERS = 1 << 24  # of the ranks of all groups
_RANKS = re.compile(r"\[(\d{1,7}(?:, ?\d{1,7})*)\]", re.ASCII)


class FlightRecorderError(ValueError):
    """Not a dump of the flight recorder, one that contradicts itself, or a file that asks for more than data."""


def shown(value: object) -> str:
    """A value in an error: short, and never what Python refuses to write out."""
    if isinstance(value, str):
        return repr(value[:60])
    small = value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) < 1 << 63)
    return repr(value) if small else f"of type {type(value).__name__}"


def not_too_much(groups: Mapping[Any, Any], entries: Sequence[Any]) -> None:
    """FlightRecorderError where the whole dump says more than any job does."""
    texts = [about.get("ranks") if isinstance(about, Mapping) else about for about in groups.values()]
    rows = [entry for entry in entries if isinstance(entry, Mapping)]
    told = {
        "letters of ranks": (sum(len(text) for text in texts if isinstance(text, (str, list, tuple))), MOST_LETTERS),
        "entries and frames": (len(entries) + sum(_length(row.get("frames")) for row in rows), MOST_FRAMES),
        "tensors": (
            sum(_length(row.get("input_sizes")) + _length(row.get("input_dtypes")) for row in rows),
            MOST_TENSORS,
        ),
    }
    for what, (count, most) in told.items():
        if count > most:
            raise FlightRecorderError(f"{count} {what}, expected at most {most}")


def _length(value: object) -> int:
    return len(value) if isinstance(value, (list, tuple)) else 0


def a_size(value: object, about: str) -> tuple[int, ...]:
    """A tensor's extents."""
    extents = tuple(a_whole(extent, about) for extent in a_list(value, about))
    if len(extents) > MOST_EXTENTS:
        raise FlightRecorderError(f"{about}: {len(extents)} extents, expected at most {MOST_EXTENTS}")
    return extents


def some_ranks(name: str, about: object) -> tuple[int, ...]:
    """Of one group: {"ranks": "[0, 1]"}; versions 1 and 2.0 wrote the list itself."""
    text = about.get("ranks") if isinstance(about, Mapping) else about
    found = _RANKS.fullmatch(text) if isinstance(text, str) else None
    if isinstance(text, (list, tuple)) and len(text) <= MOST_RANKS:
        ranks = tuple(a_whole(rank, f"pg_config of {shown(name)}: a rank") for rank in text)
    else:
        ranks = tuple(map(int, found[1].split(","))) if found else ()
    if not ranks or len(set(ranks)) < len(ranks) or max(ranks) >= MOST_RANKS:
        raise FlightRecorderError(f"pg_config of {shown(name)}: ranks {shown(text)}, expected such as '[0, 1]'")
    return tuple(sorted(ranks))


def a_name(value: object) -> str:
    """Of a group: a text, in version 1 a number."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_RANKS:
        return str(value)
    if not isinstance(value, str):
        raise FlightRecorderError("pg_config: expected texts as names of groups")
    return value


def a_whole(value: object, about: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise FlightRecorderError(f"{about} is {type(value).__name__}, expected a whole number from 0 on")
    return value


def some_texts(value: object, about: str) -> tuple[str, ...]:
    texts = a_list(value, about)
    if not all(isinstance(text, str) for text in texts):
        raise FlightRecorderError(f"{about}: expected texts")
    return tuple(texts)


def a_list(value: object, about: str) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise FlightRecorderError(f"{about} is {type(value).__name__}, expected a list")
    return value


def a_dict(value: object, about: str) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise FlightRecorderError(f"{about} is {type(value).__name__}, expected a dict")
    return value
