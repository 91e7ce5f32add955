"""A value of a run's records by its way there; what is not of its kind is refused with the place. Chapter: yours."""

from __future__ import annotations

from typing import Any

from helpers.records import RecordError

LEAST, MOST = 1e-9, 1e18  # of bytes, seconds and rates


def number(thing: Any, *way: str | int) -> float:
    """A number that can have been measured."""
    found = _at(thing, way)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not LEAST <= found <= MOST:
        raise _expected("a number from 1e-9 to 1e18", way)
    return found


def whole_number(thing: Any, *way: str | int) -> int:
    """A whole number from 1."""
    found = number(thing, *way)
    if found != int(found):
        raise _expected("a whole number", way)
    return int(found)


def word(thing: Any, *way: str | int) -> str:
    """A text."""
    found = _at(thing, way)
    if not isinstance(found, str):
        raise _expected("a text", way)
    return found


def listed(thing: Any, *way: str | int) -> int:
    """How many are in a list."""
    found = _at(thing, way)
    if not isinstance(found, list):
        raise _expected("a list", way)
    return len(found)


def names(thing: Any, *way: str | int) -> list[str]:
    """The names in an object."""
    found = _at(thing, way)
    if not isinstance(found, dict):
        raise _expected("an object", way)
    return list(found)


def _at(thing: Any, way: tuple[str | int, ...]) -> Any:
    """None where nothing is."""
    for step in way:
        there = isinstance(thing, list) if isinstance(step, int) else isinstance(thing, dict) and step in thing
        thing = thing[step] if there else None
    return thing


def _expected(what: str, way: tuple[str | int, ...]) -> RecordError:
    return RecordError(f"a run of gpu-check, and damaged: {'.'.join(map(str, way))}: expected {what}")
