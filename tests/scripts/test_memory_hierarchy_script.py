"""scripts/memory-hierarchy.py: a row a working set, bytes counted as the course counts them, and bad settings refused."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from torchrun import python, sound

SCRIPT = Path(__file__).parents[2] / "scripts" / "memory-hierarchy.py"


def run(*arguments):
    return python("memory-hierarchy.py", *arguments)


def test_it_prints_a_row_for_each_working_set():
    done = sound(run("--largest", "4", "--seconds", "0.05"))
    rows = re.findall(r"^ +(\d+) KiB +([\d.]+) GB/s, reads and writes together$", done.stdout, re.M)
    assert [int(size) for size, _ in rows] in ([4 << k for k in range(11)], [1024, 2048, 4096])
    assert all(float(rate) > 0 for _, rate in rows)


def test_it_counts_the_bytes_of_every_pass(monkeypatch):
    """With a clock that stands at one second a call, the rate is the bytes: c filled once, then 12 for each float and pass."""
    script = runpy.run_path(str(SCRIPT))
    seen = []
    real = np.add.reduce
    clock = iter(range(100))
    monkeypatch.setattr(script["time"], "perf_counter", lambda: next(clock))

    class Add:
        reduce = staticmethod(lambda rows, **kwargs: seen.append((rows.shape, kwargs["out"])) or real(rows, **kwargs))

    monkeypatch.setattr(script["np"], "add", Add)
    rate = script["on_cpu"](4096, 0.5)
    (passes, numel), c = seen[0]
    assert numel == 512 and rate == 4 * numel * (3 * passes + 1)
    assert np.all(c == passes)


@pytest.mark.parametrize("settings", [("--largest", "0"), ("--seconds", "0")])
def test_bad_settings_are_refused(settings):
    done = run(*settings)
    assert done.returncode == 2 and "needs a working set of" in done.stderr
