"""scripts/trees.py: its trees are the catalogue's, and on real ranks its sums are torch's."""

import runpy
from pathlib import Path

import pytest
from torchrun import sound, torchrun

from helpers.collectives import double_tree

ROOT = Path(__file__).parents[2]


def test_its_trees_are_nccls():
    theirs = runpy.run_path(str(ROOT / "scripts/trees.py"))["double_tree"]
    for nranks in range(1, 65):
        assert theirs(nranks) == double_tree(nranks)


@pytest.mark.parametrize("nranks", [1, 4, 5])
def test_the_trees_are_bit_equal_on_real_ranks(nranks):
    done = sound(torchrun("trees.py", nranks))
    assert done.stdout.count("equal bit by bit") == 4
    assert "16777216 B" in done.stdout
