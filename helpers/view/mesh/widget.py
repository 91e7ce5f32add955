"""The widget `mesh`: ranks on the axes of a mesh, in nodes; an axis lights up its groups, a rank its own. Chapter: meshes.

The page computes in JavaScript what `helpers.view.mesh.axes` does, tested equal; both are held against torch's DeviceMesh.
"""

from __future__ import annotations

from helpers.view.mesh.axes import (
    CALLS,
    MOST,
    NAMES,
    NODES,
    MeshSpec,
    crossing,
    groups,
    refusal,
    told_axis,
    told_mesh,
    told_rank,
)
from helpers.view.shared.mount import fallback, mount
from helpers.view.shared.widget import SpecWidget


def mesh_spec(
    axis: str | None = None, rank: int | None = None, gpus: int = 8, expert: int = 1, **sizes: int
) -> MeshSpec:
    """The state that the reader begins with: `mesh_spec(data=2, pipeline=2, tensor=2)`, the outermost axis first.

    axis: whose groups are on show, by default the innermost with more than one rank. ValueError, with what would do, on a mesh of more
    than 64 ranks, experts that do not divide the data ranks, and names or numbers that mean nothing.
    """
    for name, size in {**sizes, "expert": expert}.items():
        if name not in (*NAMES, "expert"):
            raise ValueError(f"an axis is one of {', '.join(NAMES)}, or expert, got {name!r}")
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST:
            raise ValueError(f"{name} must be a whole number from 1 to {MOST}, got {size!r}")
    if isinstance(gpus, bool) or gpus not in NODES:
        raise ValueError(f"gpus must be one of {', '.join(map(str, NODES))}, got {gpus!r}")
    axes = [[name, size] for name, size in in_order(sizes).items()]
    if why := refusal(axes, expert):
        raise ValueError(why)
    spec = MeshSpec(axes, expert, gpus, "", rank)
    if axis is None:
        axis = next((name for name, size in reversed(axes) if size > 1), "")
    if axis not in ("", *spec.sizes):
        raise ValueError(f"axis must be one of {', '.join(spec.sizes)}, or nothing, got {axis!r}")
    if rank is not None and (isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < spec.nranks):
        raise ValueError(f"rank must be a whole number from 0 to {spec.nranks - 1}, or nothing, got {rank!r}")
    return MeshSpec(axes, expert, gpus, axis, rank)


def in_order(sizes: dict[str, int]) -> dict[str, int]:
    """All axes: those that are named in their order; of those that are not, tensor comes last, shard after data, others first."""
    order = [name for name in sizes if name in NAMES]
    for name in [name for name in NAMES if name not in order]:
        beside = {"shard": "data", "data": "shard"}.get(name)
        at = order.index(beside) + (name == "shard") if beside in order else 0
        order.insert(len(order) if name == "tensor" else at, name)
    return {name: sizes.get(name, 1) for name in order}


def mesh_sentence(spec: MeshSpec) -> str:
    """The mesh, the axis on show, and the rank."""
    return " ".join(filter(None, (told_mesh(spec), told_axis(spec), told_rank(spec))))


def mesh_html(spec: MeshSpec) -> str:
    """The mount element: the spec, and for readers without JavaScript the sentence and the axes as a table."""
    rows = [
        (name, size, len(groups(spec, name)), crossing(spec, name), CALLS[name] if size > 1 else "–")
        for name, size in spec.sizes.items()
    ]
    head = ("Axis", "Ranks", "Groups", "Between nodes", "Runs")
    title = "Axes, the outermost first; experts lie on the data ranks"
    return mount("mesh", spec.as_json(), fallback(mesh_sentence(spec), head, rows, title))


class MeshWidget(SpecWidget):
    """Ranks on axes. `groups` are those of the axis on show."""

    name = "mesh"
    about = "a mesh"
    said, mounted = map(staticmethod, (mesh_sentence, mesh_html))

    def read(self, data: dict) -> MeshSpec:
        told = dict(vars(MeshSpec.read(data)))
        axes = dict(told.pop("axes"))
        return mesh_spec(**told, **axes)

    @property
    def groups(self) -> list[list[int]]:
        spec = MeshSpec.read(self.spec)
        return groups(spec, spec.axis) if spec.axis else []


def explore_mesh(**asked: object) -> MeshWidget:
    """Ranks on axes: `explore_mesh(data=2, pipeline=2, tensor=2)`, `explore_mesh(shard=8, tensor=8, gpus=8, axis="shard", rank=9)`."""
    return MeshWidget(mesh_spec(**asked))
