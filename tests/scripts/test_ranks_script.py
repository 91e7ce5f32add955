"""scripts/ranks.py on real ranks: who is who, which half sums to what, and a late rank that a barrier takes off the bill."""

import re

import pytest
from torchrun import sound, torchrun

LINE = re.compile(
    r"rank (\d+) of (\d+), local rank (\d+), cpu: its half sums to (\d+);"
    r" all_reduce ([\d.]+) ms, after a barrier ([\d.]+) ms"
)


def run(nranks):
    return torchrun("ranks.py", nranks)


@pytest.mark.parametrize("nranks", [1, 3, 4])
def test_every_rank_finds_itself_and_its_half(nranks):
    done = sound(run(nranks))
    first, *lines = done.stdout.splitlines()
    assert first == "backend gloo"
    found = [tuple(int(n) for n in LINE.fullmatch(line).groups()[:4]) for line in lines]
    assert found == [(r, nranks, r, sum(range(r % 2, nranks, 2))) for r in range(nranks)]


@pytest.mark.alone
def test_a_late_rank_is_on_everybodys_bill_until_there_is_a_barrier():
    times = [(float(m[5]), float(m[6])) for m in map(LINE.fullmatch, run(4).stdout.splitlines()[1:])]
    *others, late = times
    # a rank that waits through most of the 200 ms; the late one itself does not, and after a barrier nobody does
    assert all(alone > 150 for alone, _ in others)
    assert late[0] < 150 and all(met < 150 for _, met in times)
