"""scripts/interconnects.py on real ranks: a row for every pair, the rate is the bytes over the time, and one rank is told why not."""

import re

import pytest
from torchrun import sound, torchrun


def run(nranks, *options):
    return torchrun("interconnects.py", nranks, *options)


def test_every_pair_has_a_row():
    done = sound(run(3, "--mib", "1"))
    rows = re.findall(r"^ +(\d) - (\d) +one node +([\d.]+) ms +([\d.]+) GB/s one way$", done.stdout, re.M)
    assert [(a, b) for a, b, *_ in rows] == [("0", "1"), ("0", "2"), ("1", "2")]
    for _, _, milliseconds, rate in rows:
        assert float(rate) == pytest.approx(2**20 / float(milliseconds) / 1e6, rel=0.02, abs=0.01)


def test_one_rank_is_told_why_not():
    done = run(1)
    assert done.returncode != 0 and "a message needs two ranks and a byte: 1 ranks" in done.stderr
