"""What the reader gives to `Ranks`, refused before anything starts. Chapter: ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping

LONGEST = 1e6  # seconds of a timeout, eleven days: torch counts its own in ways that overflow


def seconds(name: str, value: object, most: float = math.inf) -> float:
    """Raises ValueError for what is no number of seconds above 0, or above `most`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= most:
        bound = "" if most == math.inf else f" and at most {most:.0f}"
        raise ValueError(f"{name} is a number of seconds > 0{bound}, got {value!r}")
    return float(value)


def strings(env: object) -> dict[str, str]:
    """Raises TypeError or ValueError for what no environment takes: a rank would find out only when it has started."""
    if not isinstance(env, Mapping):
        raise TypeError(f"env maps names to strings, got {env!r}")
    for name, value in env.items():
        if not (isinstance(name, str) and isinstance(value, str)):
            raise TypeError(f"env maps names to strings, got {name!r}: {value!r}")
        if not name or "=" in name or "\0" in name + value:
            raise ValueError(
                f"env: a name is not empty and has no '=', and nothing has a null character, got {name!r}: {value!r}"
            )
    return dict(env)
