"""scripts/hierarchy.py on real ranks: one machine plays two nodes, and the sums are torch's, bit by bit."""

import pytest
from torchrun import sound, torchrun


def run(nranks, *options):
    return torchrun("hierarchy.py", nranks, *options)


@pytest.mark.parametrize(("nranks", "options", "nodes"), [(4, ("--gpus", "2"), "2 x 2"), (3, (), "1 x 3")])
def test_two_levels_are_bit_equal_to_one(nranks, options, nodes):
    done = sound(run(nranks, *options))
    assert done.stdout.count(f"{nodes}, ") == done.stdout.count("equal bit by bit") == 4
    assert "16777216 B" in done.stdout


def test_nodes_that_are_not_alike_are_refused():
    done = run(4, "--gpus", "3")
    assert done.returncode != 0 and "4 ranks do not divide into nodes of 3" in done.stderr
