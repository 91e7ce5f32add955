"""scripts/training-memory.py: torch's own counters say what the tracker says, and bad sizes are refused."""

import re
from pathlib import Path

import pytest
import torch
from torchrun import python, sound

from helpers.measure import profile_step
from helpers.units import MIB

SCRIPT = Path(__file__).parents[2] / "scripts" / "training-memory.py"


def run(*arguments):
    return python("training-memory.py", *arguments)


@pytest.mark.skipif(torch.cuda.is_available(), reason="compares with CPU tensors; gpu-check compares on CUDA")
def test_it_prints_what_the_tracker_finds():
    done = sound(run("--width", "64", "--batch", "2", "--seq", "16", "--layers", "2"))
    rows = re.findall(r"^(.+?) +([\d.]+) MiB +([\d.]+) x the parameters$", done.stdout, re.M)
    found = profile_step(width=64, ffn=256, batch=2, seq=16, layers=2, optimizer="adam", device="cpu")
    want = [(stage.name, stage.nbytes) for stage in found.stages] + [("the peak", found.peak.nbytes)]
    assert [name for name, *_ in rows] == [name for name, _ in want]
    assert [float(mib) for _, mib, _ in rows] == pytest.approx([nbytes / MIB for _, nbytes in want], abs=0.011)
    assert [float(x) for *_, x in rows[1:]] == pytest.approx([n / want[1][1] for _, n in want[1:]], abs=0.011)


@pytest.mark.parametrize("asked", [("--width", "12"), ("--batch", "0")])
def test_sizes_that_do_not_fit_are_refused(asked):
    done = run(*asked)
    assert done.returncode == 2 and "--width is a multiple of the 8 heads; got" in done.stderr
