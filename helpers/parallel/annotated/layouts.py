"""How the batch and the matrices of the deep MLP lie on a mesh: the annotations, read by DTensor and by JAX. Chapter: annotations.

A spec names for each dimension of a tensor the axis of the mesh that cuts it, "" for none: ("data", "") for x [batch, width] cuts the
batch. JAX writes it P("data", None). DTensor turns it round and says for each axis which dimension it cuts: [Shard(0)].
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from helpers.parallel.checks import divides, whole
from helpers.parallel.model import MLP
from helpers.parallel.reference import Training

Spec = tuple[str, str]
WHOLE: Spec = ("", "")


@dataclass(frozen=True)
class Layout:
    """axes: of the mesh. batch: of x and y [batch, width]. weights: of matrices [outputs, inputs], layers take them in turn.

    outputs: of products, in front of the GELU, in turn; none: nobody says. gathered: in front of each product a further annotation
    says that the matrix is whole there. remat: each layer, gather included, is computed again in backward. ValueError for an axis
    that the mesh has not.
    """

    name: str
    axes: tuple[str, ...]
    batch: Spec
    weights: tuple[Spec, ...]
    outputs: tuple[Spec, ...] = ()
    gathered: bool = False
    remat: bool = False

    def __post_init__(self) -> None:
        for spec in (self.batch, *self.weights, *self.outputs):
            for axis in filter(None, spec):
                if axis not in self.axes:
                    raise ValueError(f"{self.name}: an axis of the mesh is one of {', '.join(self.axes)}, got {axis!r}")

    def weight(self, i: int) -> Spec:
        """Of layer i's matrix."""
        return self.weights[i % len(self.weights)]

    def output(self, i: int) -> Spec | None:
        """Of layer i's product; None where nothing is said of it."""
        return self.outputs[i % len(self.outputs)] if self.outputs else None

    def sizes(self, nranks: int) -> tuple[int, ...]:
        """Of the axes: all ranks on one, or two times the rest on two."""
        whole("ranks", nranks)
        return (nranks,) if len(self.axes) == 1 else (2, divides(2, "data ranks", nranks, "ranks"))

    def parts(self, axis: str, nranks: int) -> int:
        return dict(zip(self.axes, self.sizes(nranks), strict=True)).get(axis, 1)

    def share(self, shape: tuple[int, int], spec: Spec, nranks: int) -> int:
        """Elements of one rank's part. ValueError where the axis does not divide the dimension."""
        return prod(
            divides(self.parts(axis, nranks), f"{axis} ranks", size, "size") if axis else size
            for size, axis in zip(shape, spec, strict=True)
        )

    def check(self, training: Training, nranks: int) -> None:
        """ValueError, before anything is launched, for sizes that the ranks do not divide, and for another model than the MLP."""
        if not isinstance(training.model, MLP):
            raise ValueError(f"layouts are of the deep MLP, got {type(training.model).__name__}")
        for i in range(training.model.depth):
            self.share(training.model.shapes[f"{i}.weight"], self.weight(i), nranks)
        self.share((training.batch, training.model.width), self.batch, nranks)


PAIRS: tuple[Spec, ...] = (("tensor", ""), ("", "tensor"))
LAYOUTS = {
    one.name: one
    for one in (
        Layout("batch cut", ("data",), ("data", ""), (WHOLE,)),
        Layout("every matrix by outputs", ("tensor",), WHOLE, (("tensor", ""),)),
        Layout("pairs", ("tensor",), WHOLE, PAIRS),
        Layout("pairs, outputs said", ("tensor",), WHOLE, PAIRS, (("", "tensor"), WHOLE)),
        Layout("batch and matrices", ("data",), ("data", ""), (("data", ""),)),
        Layout("the same, gathered", ("data",), ("data", ""), (("data", ""),), gathered=True),
        Layout("gathered, computed again", ("data",), ("data", ""), (("data", ""),), gathered=True, remat=True),
        Layout("pairs on a mesh", ("data", "tensor"), ("data", ""), PAIRS, (("data", "tensor"), ("data", ""))),
    )
}
