"""What a field of a recorded file may hold: small checks, each of which names the place where it fails. Page: recorded-runs."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any, str], None]
_HEX = "[0-9a-fA-F]"
NAMES = {  # what tells one machine from another
    "a folder of somebody's machine": re.compile(r"/(?:home|Users|root)/[^\"\s]*"),
    "an address": re.compile(rf"\b(?:\d{{1,3}}\.){{3}}\d{{1,3}}\b|\b(?:{_HEX}{{2}}:){{5}}{_HEX}{{2}}\b"),
    "one device": re.compile(rf"\b(?:GPU-|MIG-)?{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}\b"),
}


class Bad(ValueError):
    """place: of the field, dotted. said: what is wrong with it."""

    def __init__(self, place: str, said: str):
        super().__init__(f"{place}: {said}" if place else said)


def expected(what: str, got: object, place: str) -> Bad:
    """What was expected there, and what is there, cut short."""
    shown = repr(got)
    return Bad(place, f"expected {what}, got {shown if len(shown) <= 80 else f'{shown[:77]}...'}")


def fields(checks: Mapping[str, Check], optional: frozenset[str] = frozenset()) -> Check:
    """An object with these fields and no others; those of `optional` may be missing."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise expected("an object", value, place)
        if missing := [name for name in checks if name not in value and name not in optional]:
            raise Bad(place, f"the field {missing[0]!r} is missing")
        if more := [name for name in value if name not in checks]:
            raise Bad(place, f"no field is called {more[0]!r}: expected {', '.join(checks)}")
        for name, one in checks.items():
            if name in value:
                one(value[name], under(place, name))

    return check


def under(place: str, name: object) -> str:
    """ "data", 3 -> "data.3"."""
    return f"{place}.{name}" if place else f"{name}"


def text(value: Any, place: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise expected("a text", value, place)


def whole_number(value: Any, place: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise expected("a whole number from 1", value, place)


def positive(value: Any, place: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not (math.isfinite(value) and value > 0):
        raise expected("a number above 0", value, place)


def day(value: Any, place: str) -> None:
    """A date as 2026-11-23."""
    try:
        if datetime.date.fromisoformat(value).isoformat() != value:
            raise ValueError
    except (TypeError, ValueError):
        raise expected("a date like 2026-11-23", value, place) from None


def texts(value: Any, place: str) -> None:
    """A list of texts, perhaps empty."""
    each(text)(value, place)


def each(check: Check, least: int = 0) -> Check:
    """A list of at least so many of these."""

    def check_all(value: Any, place: str) -> None:
        if not isinstance(value, list) or len(value) < least:
            raise expected(f"a list{' with something in it' if least else ''}", value, place)
        for i, one in enumerate(value):
            check(one, under(place, i))

    return check_all


def named(check: Check) -> Check:
    """An object whose names are free, one at least."""

    def check_all(value: Any, place: str) -> None:
        if not isinstance(value, dict) or not value:
            raise expected("an object with something in it", value, place)
        for name, one in value.items():
            check(one, under(place, name))

    return check_all


def or_null(check: Check) -> Check:
    """That, or null."""
    return lambda value, place: None if value is None else check(value, place)


def something(value: Any, place: str) -> None:
    """Anything but nothing: null, an empty list, an empty object."""
    if value is None or value in ([], {}, ""):
        raise expected("what was measured", value, place)


def text_without_names(words: str) -> None:
    """A recorded file names nobody: no folder of a user, no address in a network, no serial number of a device (a UUID)."""
    for what, pattern in NAMES.items():
        if found := pattern.search(words):
            line = words.count("\n", 0, found.start()) + 1
            raise Bad(f"line {line}", f"names {what}: {found[0][:60]}")
