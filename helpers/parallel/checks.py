"""What divides what: a clear error before anything is launched, with the nearest sizes that work. Chapters: data-parallel, meshes."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd


def whole(name: str, value: object, least: int = 1) -> int:
    """`value` as it is. ValueError naming it where it is no whole number from `least` on."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is a whole number from {least} on, got {value!r}")
    return value


def divides(parts: int, parts_name: str, size: int, size_name: str) -> int:
    """size / parts, what each part gets. ValueError where something is left over, naming both and the nearest sizes that work.

    divides(4, "ranks", 10, "batch") says: "4 ranks do not divide a batch of 10: take a batch of 8 or 12, or 2 or 5 ranks".
    """
    whole(parts_name, parts)
    whole(size_name, size)
    if size % parts:
        raise ValueError(_refusal(parts, parts_name, size, size_name, size))
    return size // parts


def divides_all(parts: int, parts_name: str, sizes: Mapping[str, int]) -> dict[str, int]:
    """What each part gets of every size. ValueError for the first that is not shared evenly, as `divides` has it; where several sizes
    must be shared, the parts it offers share all of them.

    divides_all(16, "tensor ranks", {"heads": 64, "kv_heads": 8}) says: "16 tensor ranks do not divide kv_heads 8: take kv_heads 16,
    or 8 tensor ranks".
    """
    whole(parts_name, parts)
    for name, size in sizes.items():
        whole(name, size)
        if size % parts:
            raise ValueError(_refusal(parts, parts_name, size, name, gcd(*sizes.values())))
    return {name: size // parts for name, size in sizes.items()}


def _refusal(parts: int, parts_name: str, size: int, size_name: str, common: int) -> str:
    """common: what the parts that are offered have to divide."""
    below, above = size // parts * parts, (size // parts + 1) * parts
    sizes = f"{below} or {above}" if below else f"{above}"
    return (
        f"{parts} {parts_name} do not divide {size_name} {size}: "
        f"take {size_name} {sizes}, or {near_divisors(parts, common)} {parts_name}"
    )


def near_divisors(parts: int, size: int) -> str:
    """The divisors of `size` next to `parts`, below and above, in words."""
    those = [n for n in range(1, size + 1) if size % n == 0]
    below, above = [n for n in those if n < parts][-1:], [n for n in those if n > parts][:1]
    return " or ".join(map(str, below + above))
