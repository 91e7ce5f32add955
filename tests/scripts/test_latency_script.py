"""scripts/latency-bandwidth.py on real ranks: what it prints is the line through what it measured, and one rank is told why not."""

import re
import runpy
from pathlib import Path

import pytest
from lanes import some
from torchrun import sound, torchrun

from helpers.facts.fit import fit

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "latency-bandwidth.py"


def run(nranks):
    return torchrun("latency-bandwidth.py", nranks)


@pytest.mark.parametrize("nranks", some([2, 3], [2], "scripts on other numbers of ranks"))
def test_the_line_goes_through_what_was_measured(nranks):
    done = sound(run(nranks))
    head = re.match(r"gloo: alpha ([-\d.]+) us, ([-\d.]+) GB/s one way, half of it at (\d+) KiB\n", done.stdout)
    rows = re.findall(r"^ *(\d+) B +([\d.]+) us   the line: ([+-]\d+)%$", done.stdout, re.M)
    sizes, micros = [int(size) for size, *_ in rows], [float(time) for _, time, _ in rows]
    assert sizes == [4**k for k in range(1, 13)] and micros[-1] > micros[0] > 0
    alpha, beta = fit(sizes, [t / 1e6 for t in micros])
    assert float(head[1]) == pytest.approx(alpha * 1e6, rel=0.01, abs=0.2)
    assert float(head[2]) == pytest.approx(1 / beta / 1e9, rel=0.01, abs=0.01)
    for n, t, off in zip(sizes, micros, (int(row[2]) for row in rows), strict=True):
        assert off == pytest.approx(100 * ((alpha + n * beta) * 1e6 / t - 1), abs=1.5)


def test_its_fit_is_the_course_s_own():
    sizes = [4**k for k in range(1, 13)]
    seconds = [25e-6 * (1 + 0.1 * (k % 3)) + n / 3e9 for k, n in enumerate(sizes)]
    assert runpy.run_path(str(SCRIPT))["fit"](sizes, seconds) == pytest.approx(fit(sizes, seconds), rel=1e-6)


def test_one_rank_is_told_why_not():
    done = run(1)
    assert done.returncode != 0 and "a message needs two ranks" in done.stderr
