"""Among whom a collective of HLO runs: the three ways in which XLA writes groups of devices. Chapter: annotations.

    replica_groups={{0,1},{2,3}}              a list
    replica_groups=[2,4]<=[4,2]T(1,0)         numbers in order, reshaped, transposed, and cut into 2 groups of 4
    replica_groups=mesh['data'=2,'model'=4] {'model'}       a mesh, and the axes that a group runs along

They are those of CollectiveDeviceListBase (openxla/xla, xla/hlo/ir/replica_group.cc).
"""

from __future__ import annotations

import re
from math import prod

import numpy as np

from helpers.hlo.text import HloError, number

Groups = tuple[tuple[int, ...], ...]
_WRITTEN = re.compile(r"\breplica_groups=(.+)")
_LIST = re.compile(r"\{((?:\{[\d,]*\},?)*)\}", re.ASCII)
_IOTA = re.compile(r"\[(\d+),(\d+)\]<=\[(\d+(?:,\d+)*)\](?:T\((\d+(?:,\d+)*)\))?", re.ASCII)
_MESH = re.compile(r"mesh\[([^\]]+)\] \{([^}]*)\}")
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
    return _rows(np.arange(prod(shape)).reshape(shape).transpose(order).reshape(many, each))


def _along(text: str, ndevices: int, line: int) -> Groups | None:
    if not (found := _MESH.match(text)):
        return None
    sizes = {name: number(size, line) for name, size in _AXIS.findall(found[1])}
    axes, names = [one.strip(" '") for one in found[2].split(",")], list(sizes)
    if not set(axes) <= set(names) or len(set(axes)) < len(axes):
        raise HloError(f"groups along {axes} of a mesh with the axes {names}", line)
    if prod(sizes.values()) != ndevices:
        raise _undivided(found[0], ndevices, line)
    last = [names.index(axis) for axis in axes]
    order = [i for i in range(len(names)) if i not in last] + last
    whole = np.arange(prod(sizes.values())).reshape(list(sizes.values())).transpose(order)
    return _rows(whole.reshape(-1, prod(sizes[axis] for axis in axes)))


def _rows(array: np.ndarray) -> Groups:
    return tuple(tuple(int(n) for n in row) for row in array)
