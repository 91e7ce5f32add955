"""Bytes, seconds and bandwidths: the one place where a unit is spelled.

Sizes are powers of 1024 (KiB, MiB, GiB), as nccl-tests counts them; bandwidths are powers of 1000 (GB/s), as datasheets do.
Chapters: units, ring, latency-bandwidth.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import overload

KIB, MIB, GIB, TIB = 1024, 1024**2, 1024**3, 1024**4
GB = 10**9
DIRECTIONS = ("one way", "both ways")
SCOPES = ("link", "chip", "GPU", "node")
KINDS = ("spec", "achievable", "modelled", "measured", "fitted")

_SIZES = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": TIB, "KB": 10**3, "MB": 10**6, "GB": GB, "TB": 10**12}
_SECONDS = ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


class UnitError(ValueError):
    """Two quantities of unlike kind met, or a quantity lacks what it must say."""


@dataclass(frozen=True)
class Bandwidth:
    """Bytes per second that say which way, of what, and how they are known.

    value: bytes per second. direction: "one way" or "both ways" (the sum of the two). scope: per "link" (also a slot or a
    port), "chip" (a switch, a network card, one die of several in a GPU), "GPU" or "node". kind: "spec" (somebody's datasheet),
    "achievable" (its maker's word for what is left of that in use), "modelled" (a constant of its maker's cost model), "measured", or
    "fitted" to measurements.
    Chapters: units, ring.
    """

    value: float
    direction: str
    scope: str = "GPU"
    kind: str = "spec"

    def __post_init__(self) -> None:
        if not (isinstance(self.value, (int, float)) and math.isfinite(self.value) and self.value > 0):
            raise UnitError(f"a bandwidth is a positive number of bytes per second, got {self.value!r}")
        for name, allowed in (("direction", DIRECTIONS), ("scope", SCOPES), ("kind", KINDS)):
            if getattr(self, name) not in allowed:
                raise UnitError(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}")

    @property
    def one_way(self) -> Bandwidth:
        """The same wire, counted in one direction: half of a both-ways figure."""
        return self if self.direction == "one way" else replace(self, value=self.value / 2, direction="one way")

    @property
    def both_ways(self) -> Bandwidth:
        """The same wire, both directions added up."""
        return self if self.direction == "both ways" else replace(self, value=self.value * 2, direction="both ways")

    def _like(self, other: object) -> Bandwidth:
        if not isinstance(other, Bandwidth):
            raise UnitError(
                f"{self} can only be put beside another bandwidth, got {other!r}: "
                f"say Bandwidth(bytes per second, {self.direction!r}, {self.scope!r}) if that is what it counts"
            )
        unlike = [name for name in ("direction", "scope") if getattr(self, name) != getattr(other, name)]
        if unlike:
            differ = " and ".join(f"{name}s" for name in unlike)
            how = other.conversion(self.direction, self.scope)
            raise UnitError(f"cannot mix {self} with {other}: the {differ} differ; convert the second: {how}")
        return other

    def conversion(self, direction: str, scope: str) -> str:
        """What to write behind this one so that it counts that way and per that scope; "" where it does already."""
        steps = []
        if self.direction != direction:
            turned = self.one_way if direction == "one way" else self.both_ways
            steps.append(f".{direction.replace(' ', '_')} makes it {turned}")
        if self.scope != scope:
            small, large = sorted((self.scope, scope), key=SCOPES.index)
            count = "n" if small == self.scope else "1 / n"
            steps.append(f".times({count}, {scope!r}), with n {small}s to a {large}")
        return ", then ".join(steps)

    def times(self, count: float, scope: str) -> Bandwidth:
        """`count` of them together, counted per `scope`: 18 links of 25 GB/s are 450 GB/s per GPU; 1/8 of a node is a GPU's."""
        if isinstance(count, bool) or not isinstance(count, (int, float)):
            raise UnitError(f"say how many there are, a number, got {count!r}")
        return replace(self, value=self.value * count, scope=scope)

    def __add__(self, other: Bandwidth) -> Bandwidth:
        other = self._like(other)
        return replace(self, value=self.value + other.value, kind=self.kind if self.kind == other.kind else "fitted")

    @overload
    def __truediv__(self, other: float) -> Bandwidth: ...

    @overload
    def __truediv__(self, other: Bandwidth) -> float: ...

    def __truediv__(self, other: Bandwidth | float) -> float | Bandwidth:
        """Divided by a number: a bandwidth; by a like bandwidth: their ratio."""
        if isinstance(other, (int, float)):
            return replace(self, value=self.value / other)
        return self.value / self._like(other).value

    def __mul__(self, factor: float) -> Bandwidth:
        if not isinstance(factor, (int, float)):
            raise UnitError(f"a bandwidth is scaled by a number, got {factor!r}")
        return replace(self, value=self.value * factor)

    __rmul__ = __mul__

    def __lt__(self, other: Bandwidth) -> bool:
        return self.value < self._like(other).value

    def __gt__(self, other: Bandwidth) -> bool:
        return self.value > self._like(other).value

    def seconds(self, nbytes: float) -> float:
        """Seconds that `nbytes` take at this rate, one way."""
        if self.direction != "one way":
            raise UnitError(f"a message travels one way; {self} counts both ways: take .one_way first")
        return nbytes / self.value

    def __str__(self) -> str:
        return f"{self.value / GB:.4g} GB/s {self.direction} per {self.scope}"


def _number(value: float) -> str:
    """Three significant digits, or all of a whole number."""
    return f"{value:.0f}" if value == round(value) or value >= 99.95 else f"{value:.3g}"


def nbytes_text(nbytes: float) -> str:
    """67108864 -> "64 MiB"; powers of 1024."""
    if nbytes < 0:
        raise UnitError(f"a size is not negative, got {nbytes!r}")
    unit, size = max(
        ((u, s) for u, s in _SIZES.items() if (u == "B" or "i" in u) and s <= max(nbytes, 1)), key=lambda us: us[1]
    )
    return f"{_number(nbytes / size)} {unit}"


def seconds_text(seconds: float) -> str:
    """1.2e-05 -> "12 µs"."""
    if seconds < 0:
        raise UnitError(f"a duration is not negative, got {seconds!r}")
    if seconds == 0:
        return "0 s"
    size, unit = next(((s, u) for s, u in _SECONDS if seconds >= s * 0.9995), _SECONDS[-1])
    return f"{_number(seconds / size)} {unit}"


def bandwidth_text(bytes_per_second: float) -> str:
    """4.5e11 -> "450 GB/s"; the caller says which way."""
    return f"{_number(bytes_per_second / GB)} GB/s"


def parse_nbytes(text: str | int) -> int:
    """ "64 MiB" -> 67108864; also KB, MB, GB (powers of 1000) and a bare number of bytes."""
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return text
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?i?B)?\s*", text) if isinstance(text, str) else None
    if not found or (found[2] or "B") not in _SIZES:
        raise UnitError(f'a size looks like "64 MiB", "1 GB" or 4096, got {text!r}')
    return round(float(found[1]) * _SIZES[found[2] or "B"])
