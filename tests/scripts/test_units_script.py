"""scripts/units.py on real ranks: its columns follow from size and time, and one rank is told why not."""

import re
import runpy
from pathlib import Path

import pytest
from torchrun import sound, torchrun

from helpers.collectives import PROMISES

SCRIPT = Path(__file__).parents[2] / "scripts" / "units.py"


def test_its_columns_follow_from_size_and_time():
    done = sound(torchrun("units.py", 3))
    heads = re.findall(r"^([\d.]+) MiB = ([\d.]+) GB on 3 ranks, gloo: ([\d.]+) us$", done.stdout, re.M)
    rates = re.findall(r"algbw ([\d.]+) GB/s of the buffer; a ring sends ([\d.]+) GB/s one way", done.stdout)
    assert [float(mib) for mib, *_ in heads] == [1 / 16, 1, 16] and len(rates) == 3
    for (mib, gb, micros), (algbw, busbw) in zip(heads, rates, strict=True):
        nbytes = float(mib) * 2**20
        assert float(gb) == pytest.approx(nbytes / 1e9, abs=1e-6)
        assert float(algbw) == pytest.approx(nbytes / float(micros) / 1e3, rel=0.01, abs=1e-4)
        assert float(busbw) == pytest.approx(float(algbw) * 4 / 3, rel=0.01, abs=2e-4)


def test_its_factor_is_the_course_s_own():
    bandwidths = runpy.run_path(str(SCRIPT))["bandwidths"]
    for nranks in (2, 3, 8, 512):
        assert bandwidths(10**9, nranks, 0.5) == (2e9, 2e9 * PROMISES["all_reduce"].bus_factor(nranks))


def test_one_rank_is_told_why_not():
    done = torchrun("units.py", 1)
    assert done.returncode != 0 and "busbw needs two" in done.stderr
