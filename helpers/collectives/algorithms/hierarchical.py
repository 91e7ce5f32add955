"""Inside a node, across nodes, inside again: each with an algorithm of its own, put together by `+`, `beside` and `.on`.

Inside, every GPU becomes responsible for a share of the buffer; across, GPUs of the same place in their nodes (a rail) reduce
their share; inside again, the shares are handed round. All GPUs of a node use their NICs at once, which is why every GPU wants
one. Chapter: hierarchy.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from ..about import algorithm
from ..forms import G, P
from ..profiles import LoadLike
from ..schedule import Schedule, beside
from ..transfers import ScheduleError, whole
from . import ring

SOURCE = 'Cho, Finkler, Kung, Hunter, "BlueConnect: Decomposing all-reduce for deep learning on heterogeneous network hierarchy", 2019'


def per_node(nranks: int, most: int = 8) -> int:
    """GPUs per node where nothing is said: the largest divisor of nranks below it, and not above 8."""
    whole("nranks", nranks, 1)
    return max(g for g in range(1, min(most, max(nranks - 1, 1)) + 1) if nranks % g == 0)


def _nodes(nranks: int, gpus: int | None) -> int:
    gpus = per_node(nranks) if gpus is None else gpus
    whole("nranks", nranks, 1)
    whole("gpus", gpus, 1)
    if nranks % gpus:
        raise ScheduleError(f"nodes are alike: {nranks} ranks do not divide into nodes of {gpus} GPUs")
    return nranks // gpus


def _inside_loads(nranks: int, gpus: int | None) -> list[LoadLike]:
    gpus = nranks // _nodes(nranks, gpus)
    return [(gpus - 1, 1, Fraction(1, gpus))]


def _across_loads(nranks: int, gpus: int | None) -> list[LoadLike]:
    return [(_nodes(nranks, gpus) - 1, 1, Fraction(1, nranks))]


def _up_loads(nranks: int, gpus: int | None = None) -> list[LoadLike]:
    return [*_inside_loads(nranks, gpus), *_across_loads(nranks, gpus)]


@algorithm(
    "all_reduce",
    "hierarchical",
    steps=2 * (G - 1) + 2 * (P / G - 1),
    moves=2 * (P - 1) / P,
    loads=lambda nranks, gpus=None: [*_up_loads(nranks, gpus), *_up_loads(nranks, gpus)[::-1]],
    bottleneck="the NICs: each rank sends 2(P/G-1)/P of the buffer across",
    used_by="Horovod (if asked to)",
    chapter="hierarchy",
    source=SOURCE,
)
def all_reduce(nranks: int, gpus: int | None = None) -> Schedule:
    """Reduce-scatter inside every node, all_reduce along every rail, all-gather inside every node; rings throughout.

    gpus: per node; by default the largest divisor of nranks below it, up to 8.
    """
    nodes = _nodes(nranks, gpus)
    inside = [_inside(build, nranks, nodes) for build in (ring.reduce_scatter, ring.all_gather)]
    across = _across(ring.all_reduce, nranks, nodes)
    return (inside[0] + across + inside[1]).named("all_reduce", "hierarchical")


@algorithm(
    "reduce_scatter",
    "hierarchical",
    steps=(G - 1) + (P / G - 1),
    moves=(P - 1) / P,
    loads=_up_loads,
    bottleneck="the NICs: each rank sends (P/G-1)/P of the buffer across",
    used_by="NCCL's symmetric kernels (flat along rails), jobs with a process group inside the node and one across",
    chapter="hierarchy",
    source=SOURCE,
)
def reduce_scatter(nranks: int, gpus: int | None = None) -> Schedule:
    """Reduce-scatter inside every node, then along every rail; gpus as in all_reduce."""
    nodes = _nodes(nranks, gpus)
    inside, across = _inside(ring.reduce_scatter, nranks, nodes), _across(ring.reduce_scatter, nranks, nodes)
    return (inside + across).named("reduce_scatter", "hierarchical")


@algorithm(
    "all_gather",
    "hierarchical",
    steps=(G - 1) + (P / G - 1),
    moves=(P - 1) / P,
    loads=lambda nranks, gpus=None: _up_loads(nranks, gpus)[::-1],
    bottleneck="the NICs: each rank sends (P/G-1)/P of the buffer across",
    used_by="NCCL's symmetric kernels (with a multicast inside), jobs with a process group inside the node and one across",
    chapter="hierarchy",
    source=SOURCE,
)
def all_gather(nranks: int, gpus: int | None = None) -> Schedule:
    """All-gather along every rail, then inside every node; gpus as in all_reduce."""
    nodes = _nodes(nranks, gpus)
    across, inside = _across(ring.all_gather, nranks, nodes), _inside(ring.all_gather, nranks, nodes)
    return (across + inside).named("all_gather", "hierarchical")


Build = Callable[[int], Schedule]  # of a ring: nchunks == nranks


def _inside(build: Build, nranks: int, nodes: int) -> Schedule:
    """In every node at once; the node's chunk i is what rail i is responsible for: a chunk of every node's rank i."""
    gpus = nranks // nodes
    shares = [k * gpus + i for i in range(gpus) for k in range(nodes)]
    s = build(gpus).cut(nodes)
    return beside(*(s.on(range(k * gpus, (k + 1) * gpus), nranks, shares, nranks) for k in range(nodes)))


def _across(build: Build, nranks: int, nodes: int) -> Schedule:
    """Along every rail at once: the ranks of one place in their nodes, and the chunks that they are responsible for."""
    gpus, s = nranks // nodes, build(nodes)
    rails = [range(i, nranks, gpus) for i in range(gpus)]
    return beside(*(s.on(rail, nranks, rail, nranks) for rail in rails))
