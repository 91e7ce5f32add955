"""scripts/tensor-parallel.py: four sums a block, gradients of one process, and ranks that do not divide the heads are refused."""

import re

import pytest
from lanes import some
from torchrun import sound, torchrun


@pytest.mark.parametrize("nranks", some([1, 2, 4, 8], [4], "other numbers of ranks"))
def test_a_block_among_ranks_is_the_block(nranks):
    done = sound(torchrun("tensor-parallel.py", nranks))
    found = re.findall(r"rank (\d+) of (\d+): (\d+) all_reduces of (\d+) B, off by (\S+)", done.stdout)
    assert sorted(int(rank) for rank, *_ in found) == list(range(nranks))
    assert {one[1:4] for one in found} == {(str(nranks), "4", str(2 * 16 * 64 * 8))}
    assert all(float(one[4]) < 1e-9 for one in found)


def test_heads_that_are_not_shared_evenly_are_refused():
    done = torchrun("tensor-parallel.py", 3)
    assert done.returncode != 0 and "3 ranks do not divide 8 heads: take 1, 2, 4 or 8 ranks" in done.stderr
