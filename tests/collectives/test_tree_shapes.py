"""The shapes of trees, and who works hardest in them."""

from __future__ import annotations

from collections import Counter

import pytest

from helpers.collectives import CATALOGUE, double_tree
from helpers.collectives.algorithms.shapes import depths, heap, two_trees

P = range(2, 130)
# Printed by NCCL's own trees.cc, compiled alone
NCCL = {
    4: ([-1, 2, 0, 2], [1, 3, 1, -1]),
    5: ([-1, 2, 4, 2, 0], [1, -1, 3, 0, 3]),
    6: ([-1, 2, 4, 2, 0, 4], [1, 5, 3, 1, 3, -1]),
    7: ([-1, 2, 4, 2, 0, 6, 4], [5, -1, 3, 5, 3, 1, 0]),
    8: ([-1, 2, 4, 2, 0, 6, 4, 6], [1, 3, 1, 7, 5, 3, 5, -1]),
    16: (
        [-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 14, 12, 14],
        [1, 3, 1, 7, 5, 3, 5, 15, 9, 11, 9, 7, 13, 11, 13, -1],
    ),
}


def inner(tree):
    return {up for up in tree if up >= 0}


@pytest.mark.parametrize("n", NCCL)
def test_the_double_tree_is_nccls(n):
    assert double_tree(n) == NCCL[n]


@pytest.mark.parametrize("shapes", [double_tree, two_trees])
def test_two_binary_trees_of_the_least_depth(shapes):
    for n in P:
        for tree in shapes(n):
            assert tree.count(-1) == 1 and max(Counter(tree).values()) <= 2
            assert max(depths(tree)) == (n - 1).bit_length()


def test_an_odd_p_breaks_the_neat_story():
    """Erratum: "every rank is inner in one tree and leaf in the other" holds for even P only; for odd P rank 0 is inner in both."""
    for n in P:
        first, second = map(inner, double_tree(n))
        assert first & second == ({0} if n % 2 else set())


def test_two_trees_share_their_root_and_nothing_else():
    for n in P:
        for root in {0, 1, n - 1}:
            first, second = two_trees(n, root)
            assert first[root] == second[root] == -1
            assert inner(first) & inner(second) == {root}


def test_a_heap_is_filled_level_by_level():
    assert heap(7) == [-1, 0, 0, 1, 1, 2, 2]
    assert heap(4, root=2) == [2, 3, -1, 2]


def test_who_is_the_bottleneck_of_one_tree_and_of_two():
    """Erratum E17, on the drawn tree of 7: root 2N, inner ranks 3N, leaves 1N; two trees with half each: the ring's 2N, nobody 3N."""
    one = CATALOGUE["all_reduce", "binary-tree"](7)
    passed = [max(pair) / one.nchunks for pair in zip(one.sent(), one.received(), strict=True)]
    assert passed == [2, 3, 3, 1, 1, 1, 1]
    for name in ("two-trees", "double-tree"):
        for n in range(4, 65):
            s = CATALOGUE["all_reduce", name](n)
            assert max(s.sent() + s.received()) == 2 * s.nchunks


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 8, 64, 65, 511, 512])
def test_where_the_roots_stand(n):
    """The first node, and beside it the last where P is even, the second where it is odd."""
    first, second = double_tree(n)
    assert (first.index(-1), second.index(-1)) == (0, 1 if n % 2 else n - 1)
