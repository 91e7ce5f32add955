"""How many ranks a launch has where the caller does not say: NRANKS in the environment, or what the machine is good for."""

from __future__ import annotations

import os
from collections.abc import Iterable

MAX_RANKS = 64
NAME = "NRANKS"
MOST_GPUS = 8  # of more, ranks take so many
WITHOUT = 4  # ranks where there are not two GPUs


def check_nranks(n: object, what: str = "the number of ranks") -> int:
    """Raises TypeError or ValueError naming the value and what was expected."""
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"{what} is a whole number, got {n!r}")
    if not 1 <= n <= MAX_RANKS:
        raise ValueError(f"{what} lies in 1..{MAX_RANKS}, got {n}")
    return n


def checked(n: int | None, any_of: Iterable[int] | None) -> tuple[int, ...]:
    """any_of in order, () where it is not said. TypeError or ValueError where it or n makes no sense, or both are said."""
    if n is not None:
        check_nranks(n)
    if any_of is None:
        return ()
    if n is not None:
        raise ValueError(f"n is the number of ranks, any_of what it may be: give one, got n={n} and any_of={any_of!r}")
    if not (allowed := tuple(sorted(check_nranks(one, "each number in any_of") for one in any_of))):
        raise ValueError("any_of names no number of ranks")
    return allowed


def chosen(gpus: int, allowed: tuple[int, ...]) -> tuple[int, str]:
    """How many ranks on a machine with so many GPUs, and a sentence where that is not as many as were asked for or are here."""
    asked = _asked()
    wanted = asked or (min(gpus, MOST_GPUS) if gpus >= 2 else WITHOUT)
    number = max((one for one in allowed if one <= wanted), default=min(allowed, default=wanted))
    if number == wanted:
        return number, ""
    reason = f"{NAME}={asked}" if asked else f"{gpus} GPUs" if gpus >= 2 else f"{WITHOUT} ranks by default"
    return number, f"{reason}, but what runs here is made for {_listed(allowed)}"


def _asked() -> int | None:
    """NRANKS in the environment. ValueError where it is no number of ranks."""
    if not (text := os.environ.get(NAME, "").strip()):
        return None
    if not text.isdecimal() or not 1 <= int(text) <= MAX_RANKS:
        raise ValueError(f"{NAME} in the environment is the number of ranks, 1..{MAX_RANKS}, got {text!r}")
    return int(text)


def _listed(allowed: tuple[int, ...]) -> str:
    """ "2, 4 or 8 ranks", "2 to 8 ranks"."""
    first, last = allowed[0], allowed[-1]
    if len(allowed) > 2 and allowed == tuple(range(first, last + 1)):
        return f"{first} to {last} ranks"
    *most, end = map(str, allowed)
    return f"{', '.join(most)} or {end} ranks" if most else f"{end} rank{'s' if last > 1 else ''}"
