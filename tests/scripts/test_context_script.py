"""scripts/context.py: every rank computes equally many scores, sends P - 1 blocks, and has the results of one process."""

import re

import pytest
from lanes import some
from torchrun import sound, torchrun

SEQ, BLOCK = 64, 2 * 4 * 16 * 8  # tokens; bytes of one token's keys and values


@pytest.mark.parametrize("nranks", some([1, 2, 4], [4], "other numbers of ranks"))
def test_a_ring_of_ranks_is_one_process(nranks):
    done = sound(torchrun("context.py", nranks))
    found = re.findall(r"rank (\d+) of (\d+): (\d+) scores a head, (\d+) B sent, off by (\S+)", done.stdout)
    assert sorted(int(rank) for rank, *_ in found) == list(range(nranks))
    sent = (nranks - 1) * SEQ // nranks * BLOCK
    assert {one[1:4] for one in found} == {(str(nranks), str(SEQ * (SEQ + 1) // 2 // nranks), str(sent))}
    assert all(float(one[4]) < 1e-12 for one in found)


def test_a_sequence_that_is_not_shared_evenly_is_refused():
    done = torchrun("context.py", 3)
    assert done.returncode != 0 and "64 tokens are no multiple of 2 x 3 chunks: take 1, 2, 4" in done.stderr
