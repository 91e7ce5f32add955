"""What divides what: a clear error before anything is launched, with the nearest sizes that work. Chapters: data-parallel, meshes."""

from __future__ import annotations


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
    if size % parts == 0:
        return size // parts
    below, above = size // parts * parts, (size // parts + 1) * parts
    sizes = f"{below} or {above}" if below else f"{above}"
    raise ValueError(
        f"{parts} {parts_name} do not divide {size_name} {size}: "
        f"take {size_name} {sizes}, or {_near_divisors(parts, size)} {parts_name}"
    )


def _near_divisors(parts: int, size: int) -> str:
    """The divisors of `size` next to `parts`, below and above."""
    those = [n for n in range(1, size + 1) if size % n == 0]
    below, above = [n for n in those if n < parts][-1:], [n for n in those if n > parts][:1]
    return " or ".join(map(str, below + above))
