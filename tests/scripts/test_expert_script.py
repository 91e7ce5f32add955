"""scripts/expert.py: unequal parts to experts and back equal one process, forward and backward, on any number of ranks."""

import re

import pytest
from lanes import some
from torchrun import sound, torchrun


@pytest.mark.parametrize("nranks", some([4, 3, 1], [4], "another number of ranks"))
def test_experts_on_ranks_equal_one_process(nranks):
    done = sound(torchrun("expert.py", nranks))
    rows = [int(n) for n in re.search(r"each rank: \[(.+?)\]", done.stdout)[1].split(",")]
    assert len(rows) == nranks and sum(rows) == 512 * nranks
    assert nranks == 1 or len(set(rows)) > 1, "the parts are unequal"
    assert float(re.search(r"by (\S+) at most", done.stdout)[1]) < 1e-12
