"""The shapes of binary trees, as parents: parents[rank] is the rank above, -1 at the root. Chapter: trees."""

from __future__ import annotations

from ..transfers import whole

Tree = list[int]


def heap(nranks: int, root: int = 0) -> Tree:
    """Filled level by level from the root: rank root + i has the children root + 2i + 1 and root + 2i + 2, modulo nranks."""
    parents = [-1] * nranks
    for i in range(1, nranks):
        parents[(root + i) % nranks] = (root + (i - 1) // 2) % nranks
    return parents


def bit_tree(nranks: int) -> Tree:
    """NCCL's: rank 0 on top with one child, below it the others in order, so that odd ranks are leaves.

    A rank's parent has its lowest set bit cleared and the next one set; where there is no such rank, only cleared.
    """
    parents = [-1]
    for rank in range(1, nranks):
        bit = rank & -rank
        up = (rank ^ bit) | 2 * bit
        parents.append(up if up < nranks else rank ^ bit)
    return parents


def double_tree(nranks: int) -> tuple[Tree, Tree]:
    """NCCL's two trees, exactly (src/graph/trees.cc, ncclGetDtree): the second is the first mirrored, or for odd nranks shifted by one.

    NCCL builds them over nodes; inside a node there is a chain. For even nranks no rank is inner in both trees, for odd ones rank 0 is.
    """
    whole("nranks", nranks, 1)
    first = bit_tree(nranks)
    if nranks % 2:
        return first, _played(first, [(r - 1) % nranks for r in range(nranks)])
    return first, _played(first, [nranks - 1 - r for r in range(nranks)])


def two_trees(nranks: int, root: int = 0) -> tuple[Tree, Tree]:
    """Both with the same root, which has one child in each; of the others, none is inner in both.

    Counted from the root: the bit tree, and the bit tree in which the ranks 1 to P-1 are mirrored, or for even nranks shifted by one.
    """
    others = nranks - 1
    shifted = [0, *((r - 2) % others + 1 for r in range(1, nranks))] if others else [0]
    mirrored = [-r % nranks for r in range(nranks)]
    first = bit_tree(nranks)
    second = _played(first, mirrored if nranks % 2 else shifted)
    back = [(r - root) % nranks for r in range(nranks)]
    return _played(first, back), _played(second, back)


def _played(tree: Tree, roles: list[int]) -> Tree:
    """The tree in which rank r has the place that rank roles[r] has in the given one."""
    rank_of = {role: rank for rank, role in enumerate(roles)}
    return [-1 if tree[role] < 0 else rank_of[tree[role]] for role in roles]


def depths(tree: Tree) -> list[int]:
    """How many edges every rank is away from the root."""
    found = [0 if up < 0 else -1 for up in tree]

    def depth(rank: int) -> int:
        if found[rank] < 0:
            found[rank] = depth(tree[rank]) + 1
        return found[rank]

    return [depth(rank) for rank in range(len(tree))]
