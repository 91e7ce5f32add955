"""scripts/benchmarking.py on real ranks: its busbw follows from size, time and the collective; what is wrong is counted."""

import re

import pytest
from torchrun import ROOT, sound, torchrun

from helpers.collectives import PROMISES

LINE = re.compile(r"(\w+) +(\d+) B +([\d.]+) us \((\d+) to (\d+) us\) busbw ([\d.]+) GB/s, (\d+) wrong")


def test_it_counts_as_nccl_tests_does():
    """Three ranks, so that no size is a multiple; the median lies between the least and the most."""
    done = sound(torchrun("benchmarking.py", 3))
    rows = LINE.findall(done.stdout)
    assert [name for name, *_ in rows] == ["all_reduce"] * 3 + ["reduce_scatter"] * 3
    for name, nbytes, micros, least, most, busbw, wrong in rows:
        assert int(nbytes) in [2**k // 12 * 12 for k in (14, 18, 22)] and wrong == "0"
        assert int(least) - 1 <= float(micros) <= int(most) + 1
        told = int(nbytes) / float(micros) / 1e3 * PROMISES[name].bus_factor(3)
        assert float(busbw) == pytest.approx(told, rel=0.01, abs=1e-4)


def test_it_finds_a_sum_that_is_wrong(tmp_path):
    """Rank 0 gives twos instead of ones to everything: every element is wrong, on all ranks."""
    text = (ROOT / "scripts/benchmarking.py").read_text()
    wrong = tmp_path / "benchmarking.py"
    wrong.write_text(
        text.replace("    call()\n    wrong", "    x += 1 - min(dist.get_rank(), 1)\n    call()\n    wrong")
    )
    done = sound(torchrun(wrong, 2))
    counts = {(name, int(nbytes)): int(count) for name, nbytes, *_, count in LINE.findall(done.stdout)}
    assert counts == {
        (name, nbytes): nbytes // 4 * (2 if name == "all_reduce" else 1)
        for name in ("all_reduce", "reduce_scatter")
        for nbytes in (2**14, 2**18, 2**22)
    }
