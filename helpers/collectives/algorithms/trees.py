"""Binary trees with a pipeline: chunks follow each other down the edges, so that inner ranks send and receive all the time.

One binary tree makes an inner rank pass every byte three times in an all_reduce (it sends up once and down twice), while
leaves idle. Two trees, in which no rank is inner in both, carry half of the buffer each, and nobody passes more than the ring
does. NCCL's trees: NVIDIA/nccl src/graph/trees.cc. Chapter: trees.
"""

from __future__ import annotations

from fractions import Fraction

from ..about import algorithm
from ..forms import P, S, ceil, floor, function, log2, minimum
from ..profiles import LoadLike
from ..schedule import Schedule
from ..transfers import in_range, whole
from .shapes import double_tree, heap, two_trees
from .stream import stream, stream_steps, stream_up, up_and_down

NCHUNKS = 8
SOURCE = 'Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009'

ONE_TREE = floor(log2(P)) + floor(log2(P - 1)) + minimum(2, P - 1) * (S - 1)  # the steps down it


@function
def early(nranks: int) -> int:
    """1 where nranks leaves 1 divided by 4 and has an odd number of ones in binary, else 0."""
    return int(nranks % 4 == 1 and nranks.bit_count() % 2)


def _one(nranks: int, root: int = 0, nchunks: int = NCHUNKS) -> list[LoadLike]:
    """No port ever passes more than one chunk in a step, so all there is to count is steps."""
    return [(stream_steps([heap(nranks)], nchunks), 1, Fraction(1, nchunks))]


def _two(nranks: int, root: int = 0, nchunks: int = NCHUNKS) -> list[LoadLike]:
    return [(stream_steps(two_trees(nranks), nchunks), 1, Fraction(1, nchunks))]


@algorithm(
    "broadcast",
    "binary-tree",
    steps=ONE_TREE,
    moves=minimum(2, P - 1),
    loads=_one,
    bottleneck="the inner ranks and the root, which send every chunk twice; the leaves only receive",
    used_by="Open MPI (other children; in pieces only where asked)",
    chapter="trees",
    source=SOURCE,
)
def broadcast(nranks: int, root: int = 0, nchunks: int = NCHUNKS) -> Schedule:
    """Chunk after chunk down one binary tree; rank i, counted from the root, has the children 2i+1 and 2i+2."""
    _rooted(nranks, root)
    return stream(nranks, [heap(nranks, root)], nchunks).named("broadcast", "binary-tree", root)


@algorithm(
    "reduce",
    "binary-tree",
    steps=ONE_TREE,
    moves=minimum(2, P - 1),
    loads=_one,
    bottleneck="the inner ranks and the root, which receive every chunk twice; the leaves only send",
    used_by="Open MPI (other children; in pieces only where asked)",
    chapter="trees",
    source=SOURCE,
)
def reduce(nranks: int, root: int = 0, nchunks: int = NCHUNKS) -> Schedule:
    """Chunk after chunk up one binary tree: the broadcast read backwards."""
    _rooted(nranks, root)
    return stream_up(nranks, [heap(nranks, root)], nchunks).named("reduce", "binary-tree", root)


@algorithm(
    "all_reduce",
    "binary-tree",
    steps=2 * ONE_TREE,
    moves=minimum(3, floor((P + 1) / 2)),
    loads=lambda nranks, nchunks=NCHUNKS: 2 * _one(nranks, 0, nchunks),
    bottleneck="the inner ranks, not the root: they send every chunk up once and down twice",
    used_by="nobody alone: half of the double tree",
    chapter="trees",
    source=SOURCE,
)
def all_reduce(nranks: int, nchunks: int = NCHUNKS) -> Schedule:
    """Up one binary tree to rank 0, then down the same tree."""
    whole("nranks", nranks, 1)
    return up_and_down(nranks, [heap(nranks)], nchunks).named("all_reduce", "binary-tree")


@algorithm(
    "broadcast",
    "two-trees",
    steps=2 * ceil(log2(P)) + S - 2,
    moves=1,
    loads=_two,
    bottleneck="none, once the pipeline is full",
    used_by="nobody by that name; the idea behind NCCL's double tree",
    chapter="trees",
    source=SOURCE,
)
def broadcast_two(nranks: int, root: int = 0, nchunks: int = NCHUNKS) -> Schedule:
    """The odd chunks down one tree, the even ones down another, in which every other rank is a leaf; both from the same root."""
    _rooted(nranks, root)
    return stream(nranks, two_trees(nranks, root), nchunks).named("broadcast", "two-trees", root)


@algorithm(
    "reduce",
    "two-trees",
    steps=2 * ceil(log2(P)) + S - 2,
    moves=1,
    loads=_two,
    bottleneck="none, once the pipeline is full",
    used_by="nobody by that name; the idea behind NCCL's double tree",
    chapter="trees",
    source=SOURCE,
)
def reduce_two(nranks: int, root: int = 0, nchunks: int = NCHUNKS) -> Schedule:
    """The same two trees, upwards."""
    _rooted(nranks, root)
    return stream_up(nranks, two_trees(nranks, root), nchunks).named("reduce", "two-trees", root)


@algorithm(
    "all_reduce",
    "two-trees",
    steps=2 * (2 * ceil(log2(P)) + S - 2),
    moves=minimum(2, P / 2),
    loads=lambda nranks, nchunks=NCHUNKS: 2 * _two(nranks, 0, nchunks),
    bottleneck="none: an inner rank of one tree is a leaf of the other, and passes what a rank of the ring does",
    used_by="nobody by that name; the idea behind NCCL's double tree",
    chapter="trees",
    source=SOURCE,
)
def all_reduce_two(nranks: int, nchunks: int = NCHUNKS) -> Schedule:
    """Up two complementary trees to rank 0, half of the chunks each, then down both."""
    whole("nranks", nranks, 1)
    return up_and_down(nranks, two_trees(nranks), nchunks).named("all_reduce", "two-trees")


@algorithm(
    "all_reduce",
    "double-tree",
    steps=2 * (2 * ceil(log2(P)) + S - 2 - early(P)),
    moves=minimum(2, P / 2),
    loads=lambda nranks, nchunks=NCHUNKS: [(2 * stream_steps(double_tree(nranks), nchunks), 1, Fraction(1, nchunks))],
    bottleneck="none for even P; for odd P rank 0 is inner in both trees",
    used_by="NCCL (Tree), between nodes only: inside a node its trees are chains",
    chapter="trees",
    source=SOURCE,
)
def all_reduce_double(nranks: int, nchunks: int = NCHUNKS) -> Schedule:
    """Up NCCL's two trees, half of the chunks each, then down both; the trees have different roots.

    early(P) is 1 where P leaves 1 divided by 4 and has an odd number of ones in binary: there the two trees share one beat
    at their roots and at their deepest leaves, and each way is done a step earlier. Found by enumeration, tested up to 64.
    """
    whole("nranks", nranks, 1)
    return up_and_down(nranks, double_tree(nranks), nchunks).named("all_reduce", "double-tree")


def _rooted(nranks: int, root: int) -> None:
    whole("nranks", nranks, 1)
    in_range("root", root, nranks, "")
