"""What a field of a trace must be, or an error that names the event. Chapter: yours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

LATEST = 1 << 63  # nanoseconds: what kineto counts in
MOST_LETTERS = 60  # of a value in an error, and of a number
_PLAIN = re.compile(r"(\d+)\.(\d+)", re.ASCII)
_POWER = re.compile(r"\d+(?:\.\d+)?[eE][-+]?\d+", re.ASCII)


class KinetoError(ValueError):
    """No trace of torch's profiler, or one that is damaged: which event, which field, or where in the text."""


class Digits(str):
    """A number with a point or a power, as it was written: a float has too few digits for nanoseconds since 1970."""

    __slots__ = ()


def shown(value: object) -> str:
    """A value in an error: short."""
    if isinstance(value, Digits):
        return str(value[:MOST_LETTERS])
    if isinstance(value, str):
        return repr(value[:MOST_LETTERS])
    small = value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) < LATEST)
    return repr(value) if small else f"of type {type(value).__name__}"


def nanoseconds(value: object, about: str) -> int:
    """Of microseconds, to the digit; what stands behind the third place is cut off."""
    found = _exact(value)
    if found is None or not 0 <= found < LATEST:
        raise KinetoError(f"{about} is {shown(value)}, expected microseconds from 0 on")
    return found


def _exact(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value * 1000
    if not isinstance(value, Digits) or len(value) > MOST_LETTERS:
        return None
    if found := _PLAIN.fullmatch(value):
        return int(found[1]) * 1000 + int(f"{found[2]}000"[:3])
    return _rounded(value) if _POWER.fullmatch(value) else None


def _rounded(text: str) -> int | None:
    """1.5e3 is a float for whoever wrote it."""
    number = float(text) * 1000
    return int(number) if number < LATEST else None


def a_whole(value: object, about: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < LATEST:
        raise KinetoError(f"{about} is {shown(value)}, expected a whole number from 0 on")
    return value


def a_text(value: object, about: str) -> str:
    if not isinstance(value, str) or isinstance(value, Digits):
        raise KinetoError(f"{about} is {shown(value)}, expected a text")
    return value


def a_place(value: object, about: str) -> int | str:
    """A process or a thread: a number, or one of kineto's names ("Spans")."""
    known = isinstance(value, (int, str)) and not isinstance(value, (bool, Digits))
    if not known or (isinstance(value, int) and abs(value) >= LATEST):
        raise KinetoError(f"{about} is {shown(value)}, expected a number or a name")
    return value  # type: ignore[return-value]  # known is checked above, which the checker cannot follow


def a_list(value: object, about: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise KinetoError(f"{about} is {shown(value)}, expected a list")
    return value


def a_dict(value: object, about: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise KinetoError(f"{about} is {shown(value)}, expected a dict")
    return value
