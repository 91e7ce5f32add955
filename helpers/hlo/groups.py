"""Among whom a collective of HLO runs: the ways in which XLA writes groups of devices. Chapter: annotations.

    replica_groups={{0,1},{2,3}}              a list
    replica_groups=[2,4]<=[4,2]T(1,0)         numbers in order, reshaped, transposed, and cut into 2 groups of 4
    replica_groups=mesh['data'=2,'model'=4] {'model'}       a mesh, and the axes that a group runs along
    replica_groups=mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)) {'b':(2)2}   the mesh's devices, reshaped and transposed; of an axis the
                                              part of size 2 behind one of 2: as a product of smaller axes, 4 = 2 x 2, its second factor

They are those of CollectiveDeviceListBase (openxla/xla, xla/hlo/ir/replica_group.cc).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, product
from math import prod
from operator import mul

from helpers.hlo.text import HloError, number

Groups = tuple[tuple[int, ...], ...]
# (axis, low, high): the factors of an axis from low to high, so (axis, 1, its size) for all of it
Part = tuple[str, int, int]
_WRITTEN = re.compile(r"\breplica_groups=(.+)")
_LIST = re.compile(r"\{((?:\{[\d,]*\},?)*)\}", re.ASCII)
_IOTA = re.compile(r"\[(\d+),(\d+)\]<=\[(\d+(?:,\d+)*)\](?:T\((\d+(?:,\d+)*)\))?", re.ASCII)
_MESH = re.compile(r"mesh\[([^\]]+)\](?:, device_ids=\(\[([\d,]+)\](?:T\(([\d,]+)\))?\))? \{([^}]*)\}", re.ASCII)
_PART = re.compile(r"'?([\w.]+)'?(?::\((\d+)\)(\d+))?", re.ASCII)
_AXIS = re.compile(r"'?([\w.]+)'?=(\d+)", re.ASCII)
_PAIRS = re.compile(r"\bsource_target_pairs=\{((?:\{\d+,\d+\},?)*)\}", re.ASCII)


def groups(attributes: str, ndevices: int, line: int) -> Groups:
    """Of a collective's attributes. HloError where they are missing, written in another way, or no division of the devices."""
    written = _WRITTEN.search(attributes)
    if not written:
        raise HloError("a collective without replica_groups", line)
    found = (
        _listed(written[1], ndevices, line)
        or _counted(written[1], ndevices, line)
        or _along(written[1], ndevices, line)
    )
    if found is None:
        raise HloError(f"no groups of devices: {written[1][:60]!r}", line)
    everybody = sorted(device for group in found for device in group)
    if everybody != list(range(ndevices)):
        raise _undivided(found, ndevices, line)
    if len({len(group) for group in found}) > 1:
        raise HloError(f"groups of unequal size: {found}", line)
    return found


def pairs(attributes: str, ndevices: int, line: int) -> Groups:
    """Who sends to whom in a collective-permute. HloError where a device is none, or gets twice."""
    written = _PAIRS.search(attributes)
    if not written:
        raise HloError("a collective-permute without source_target_pairs", line)
    found = _lists(written[1], line)
    targets = [pair[1] for pair in found]
    if not found or len(set(targets)) < len(targets) or any(device >= ndevices for pair in found for device in pair):
        raise HloError(f"no pairs of {ndevices} devices, each a target once: {found}", line)
    return found


def _undivided(groups: object, ndevices: int, line: int) -> HloError:
    return HloError(f"groups {groups} do not divide devices 0 to {ndevices - 1}", line)


def _lists(text: str, line: int) -> Groups:
    return tuple(
        tuple(number(n, line) for n in one.split(",") if n) for one in re.findall(r"\{([\d,]*)\}", text, re.ASCII)
    )


def _listed(text: str, ndevices: int, line: int) -> Groups | None:
    """An empty list means one group of all."""
    if not (found := _LIST.match(text)):
        return None
    return _lists(found[1], line) or (tuple(range(ndevices)),)


def _counted(text: str, ndevices: int, line: int) -> Groups | None:
    if not (found := _IOTA.match(text)):
        return None
    shape = [number(n, line) for n in found[3].split(",")]
    order = [number(n, line) for n in found[4].split(",")] if found[4] else list(range(len(shape)))
    many, each = number(found[1], line), number(found[2], line)
    if sorted(order) != list(range(len(shape))) or prod(shape) != many * each:
        raise HloError(f"groups that do not fit their own shape: {found[0]!r}", line)
    if many * each != ndevices:
        raise _undivided(found[0], ndevices, line)
    return _rows(_transposed(range(prod(shape)), shape, order), each)


def _along(text: str, ndevices: int, line: int) -> Groups | None:
    if not (found := _MESH.match(text)):
        return None
    sizes = {name: number(size, line) for name, size in _AXIS.findall(found[1])}
    told = [_part(one.strip(), sizes, line) for one in found[4].split(",")]
    parts = [part for part in told if part]
    if len(set(parts)) < len(told):
        raise HloError(f"groups along {found[4]} of a mesh with the axes {list(sizes)}", line)
    if prod(sizes.values()) != ndevices:
        raise _undivided(found[0], ndevices, line)
    pieces = _pieces(parts, sizes)
    last = [pieces.index(one) for part in parts for one in pieces if one[0] == part[0] and part[1] <= one[1] < part[2]]
    if any(high % low for _, low, high in pieces) or len(set(last)) < len(last):
        raise HloError(f"parts of an axis that do not fit each other: {found[4]}", line)
    shape = [high // low for _, low, high in pieces]
    order = [at for at in range(len(pieces)) if at not in last] + last
    whole = _transposed(_ordered(found[2], found[3], ndevices, line), shape, order)
    return _rows(whole, prod(shape[at] for at in last))


def _pieces(parts: list[Part], sizes: dict[str, int]) -> list[Part]:
    """Every axis cut where a part of it begins or ends."""
    cut = {
        name: {1, size} | {edge for at, *edges in parts if at == name for edge in edges} for name, size in sizes.items()
    }
    return [(name, low, high) for name, edges in cut.items() for low, high in pairwise(sorted(edges))] or [("", 1, 1)]


def _part(text: str, sizes: dict[str, int], line: int) -> Part | None:
    """None for what is no part of an axis that there is."""
    found = _PART.fullmatch(text)
    if not found or found[1] not in sizes:
        return None
    size = sizes[found[1]]
    low, part = (number(found[2], line), number(found[3], line)) if found[2] else (1, size)
    return (found[1], low, low * part) if low * part and size % (low * part) == 0 else None


def _ordered(shape: str | None, order: str | None, ndevices: int, line: int) -> Sequence[int]:
    """The mesh's devices, from 0 on unless told otherwise."""
    if shape is None:
        return range(ndevices)
    sizes = [number(n, line) for n in shape.split(",")]
    turned = [number(n, line) for n in order.split(",")] if order else list(range(len(sizes)))
    if prod(sizes) != ndevices or sorted(turned) != list(range(len(sizes))):
        raise HloError(f"a mesh's devices [{shape}]T({order}) are not those of {ndevices}", line)
    return _transposed(range(ndevices), sizes, turned)


def _transposed(devices: Sequence[int], shape: list[int], order: list[int]) -> list[int]:
    """Devices that lie in this shape, row by row, read with the axes in another order."""
    strides = [prod(shape[axis + 1 :]) for axis in order]
    places = product(*(range(shape[axis]) for axis in order))
    return [devices[sum(map(mul, place, strides))] for place in places]


def _rows(devices: Sequence[int], each: int) -> Groups:
    return tuple(tuple(devices[at : at + each]) for at in range(0, len(devices), each))
