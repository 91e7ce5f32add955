"""scripts/sharded.py on real ranks: every rank holds its share of the states, and the norm is that of all shards."""

import re

import pytest
from lanes import some
from torchrun import sound, torchrun

LINE = re.compile(r"^(\d+) step (\d+): loss (\S+) norm (\S+) (\d+) of (\d+) B", re.M)


@pytest.mark.parametrize("nranks", some([2, 4], [2], "another number of ranks"))
def test_every_rank_holds_its_share_and_sees_one_norm(nranks):
    done = sound(torchrun("sharded.py", nranks, loaded=("torch._dynamo",)))  # its optimizer imports it
    found = {(int(r), int(s)): (*map(float, rest),) for r, s, *rest in LINE.findall(done.stdout)}
    assert set(found) == {(rank, step) for rank in range(nranks) for step in range(3)}
    for _, _, held, whole in found.values():
        assert held == whole / nranks  # every parameter has rows for all of them
    for step in range(3):
        losses, norms, *_ = zip(*(found[rank, step] for rank in range(nranks)), strict=True)
        assert len(set(norms)) == 1 and len(set(losses)) == nranks, "other data on every rank, one norm"
    assert found[0, 2][0] < found[0, 0][0], "steps on the same data help"
