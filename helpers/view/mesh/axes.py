"""Ranks on the axes of a mesh: coordinates, groups, and which of them leave their node. Chapter: meshes.

Ranks are numbered as torch's DeviceMesh numbers them: the last axis is the one on which neighbours lie. Experts are no axis of their own:
their groups are neighbours among the ranks that differ in data and shard only.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from helpers.view.shared.mount import Spec
from helpers.view.shared.words import counted

NAMES = ("pipeline", "data", "shard", "tensor")  # from the outermost, where nobody says otherwise
MOST, NODES = 64, (1, 2, 4, 8)
COLLECTIVES = {
    "pipeline": "sends and receives of activations and their gradients between neighbouring stages",
    "data": "all_reduces of gradients, or a reduce_scatter and an all_gather (ZeRO-1)",
    "shard": "all_gathers of parameters and reduce_scatters of gradients",
    "tensor": "all_reduces of activations",
    "expert": "all_to_alls of tokens, there and back",
}
CALLS = {
    "pipeline": "send, recv",
    "data": "all_reduce",
    "shard": "all_gather, reduce_scatter",
    "tensor": "all_reduce",
    "expert": "all_to_all",
}
SHOWN = 8  # ranks of a group that a sentence names


@dataclass(frozen=True)
class MeshSpec(Spec):
    """The whole state of the widget. axes: [name, ranks on it] of NAMES, the outermost first; expert: ranks over which experts are spread.

    gpus: of a node, one of NODES. axis: whose groups are on show, "" for none; rank: who is told of, None for nobody.
    """

    axes: list[list]
    expert: int
    gpus: int
    axis: str
    rank: int | None

    @property
    def sizes(self) -> dict[str, int]:
        """Ranks on every axis, experts' too."""
        return {**dict(self.axes), "expert": self.expert}

    @property
    def nranks(self) -> int:
        return prod(size for _, size in self.axes)

    @property
    def nodes(self) -> int:
        """The last may not be full."""
        return -(-self.nranks // self.gpus)


def coordinates(spec: MeshSpec, rank: int) -> dict[str, int]:
    """Where a rank lies on every axis, in the axes' order."""
    found = {}
    for name, size in reversed(spec.axes):
        rank, found[name] = divmod(rank, size)
    return dict(reversed(found.items()))


def groups(spec: MeshSpec, axis: str) -> list[list[int]]:
    """The groups of an axis: ranks that differ in it alone, in its order; by their first ranks."""
    within = ("data", "shard") if axis == "expert" else (axis,)
    found: dict[tuple, list[int]] = {}
    for rank in range(spec.nranks):
        key = tuple(at for name, at in coordinates(spec, rank).items() if name not in within)
        found.setdefault(key, []).append(rank)
    size = spec.sizes[axis]
    cut = [ranks[i : i + size] for ranks in found.values() for i in range(0, len(ranks), size)]
    return sorted(cut)


def group(spec: MeshSpec, axis: str, rank: int) -> list[int]:
    """The group of an axis in which a rank is."""
    return next(ranks for ranks in groups(spec, axis) if rank in ranks)


def crossing(spec: MeshSpec, axis: str) -> int:
    """How many groups of an axis have ranks in more than one node."""
    return sum(len({rank // spec.gpus for rank in ranks}) > 1 for ranks in groups(spec, axis))


def refusal(axes: list[list], expert: int) -> str:
    """Why such a mesh is not drawn, and what would be; "" where it is."""
    words = " × ".join(f"{name} {size}" for name, size in axes if size > 1)
    sizes = dict(axes)
    nranks = prod(sizes.values())
    if nranks > MOST:
        most = max(axes, key=lambda one: one[1])
        fits = MOST // (nranks // most[1])
        advice = f"{most[0]} may be at most {fits}" if fits else "make two of them smaller"
        return f"{words} are {nranks} ranks, and {MOST} can be drawn: with the others as they are, {advice}."
    spread = sizes["data"] * sizes["shard"]
    if spread % expert:
        fitting = [n for n in range(1, spread + 1) if spread % n == 0]
        return f"Experts are spread over the data ranks, data × shard = {spread}: expert is one of {listed(fitting)}, not {expert}."
    return ""


def listed(numbers: list[int]) -> str:
    """ "1, 2, 4"."""
    return ", ".join(map(str, numbers))


def peers(ranks: list[int]) -> str:
    """ "1, 2, 3 and 5 more"."""
    more = len(ranks) - SHOWN
    return f"{listed(ranks[:SHOWN])} and {more} more" if more > 0 else listed(ranks)


def told_mesh(spec: MeshSpec) -> str:
    """How many ranks, on which axes, in how many nodes."""
    axes = [f"{name} {size}" for name, size in spec.axes if size > 1]
    order = ", from the outermost axis to the innermost" if len(axes) > 1 else ""
    named = f": {' × '.join(axes)}{order}" if axes else ""
    return f"{counted(spec.nranks, 'rank')} on {counted(spec.nodes, 'node')} of {spec.gpus}{named}."


def told_axis(spec: MeshSpec) -> str:
    """What runs on the axis on show, in which groups, and whether they stay in their node."""
    if not spec.axis:
        return ""
    size = spec.sizes[spec.axis]
    if size == 1:
        return f"On {spec.axis} every rank is alone: nothing is sent."
    found, cross = groups(spec, spec.axis), crossing(spec, spec.axis)
    if len(found) == 1:
        where = "which crosses between nodes" if cross else "inside a node"
    else:
        some = (
            "all of them cross"
            if cross == len(found)
            else f"{cross} of them cross"
            if cross > 1
            else "one of them crosses"
        )
        where = f"{some} between nodes" if cross else "each inside a node"
    return f"On {spec.axis} run {COLLECTIVES[spec.axis]}, in {counted(len(found), 'group')} of {size}, {where}."


def told_rank(spec: MeshSpec) -> str:
    """Where a rank lies, and whom it meets on which axis."""
    if spec.rank is None:
        return ""
    sizes = {name: size for name, size in spec.sizes.items() if size > 1}
    if not sizes:
        return f"Rank {spec.rank} is alone."
    at = coordinates(spec, spec.rank)
    where = ", ".join(f"{name} {at[name]}" for name in sizes if name in at)
    met = [f"{peers([r for r in group(spec, name, spec.rank) if r != spec.rank])} on {name}" for name in sizes]
    return f"Rank {spec.rank} is {where}; it talks to {'; '.join(met)}."
