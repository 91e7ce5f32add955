"""scripts/roofline.py: its ridge is its rate over its bandwidth, its counts are the course's, and bad sizes are refused."""

import re
import runpy
from pathlib import Path

import pytest
import torch
from torchrun import python, sound

from helpers.memory.roofline import attention, elementwise, gemm, gemv, softmax

SCRIPT = Path(__file__).parents[2] / "scripts" / "roofline.py"


def run(*arguments):
    return python("roofline.py", *arguments)


def test_it_prints_a_roof_and_what_stands_under_it():
    done = sound(run("--size", "128"))
    head = re.match(
        r"\w+ torch.float32: ([\d.]+) GFLOP/s, ([\d.]+) GB/s both ways, ridge ([\d.]+) FLOP/B\n", done.stdout
    )
    flops, rate, ridge = map(float, head.groups())
    rounded = (0.06 + 0.06 * ridge) / rate  # what a digit that is not printed does to the quotient
    assert ridge == pytest.approx(flops / rate, abs=0.02 + rounded)
    rows = re.findall(r"^ +([a-z ]+): +([\d.]+) FLOP/B +([\d.]+) GFLOP/s, +(\d+)% of its roof$", done.stdout, re.M)
    assert [row[0] for row in rows] == ["matmul", "matrix times vector", "add", "softmax", "attention"]
    assert all(float(flops) > 0 for _, _, flops, _ in rows)


def test_its_counts_are_the_course_s_own():
    n, wide = 256, 32 * 256**2
    counted = {
        name: (flops, moved)
        for name, _, flops, moved in runpy.run_path(str(SCRIPT))["operations"](n, torch.float32, "cpu")
    }
    want = {
        "matmul": gemm(n, n, n, 4),
        "matrix times vector": gemv(1, 32 * n, n, 4),
        "add": elementwise(wide, 4, inputs=2),
        "softmax": softmax(32 * n, n, 4),
        "attention": attention(1, n // 64, n, 64, 4, fused=True),
    }
    assert counted.pop("copy") == (0, 2 * wide * 4)
    assert counted == {name: (work.flops, work.nbytes) for name, work in want.items()}


@pytest.mark.parametrize("size", ["0", "100", "-64"])
def test_a_size_that_does_not_fit_is_refused(size):
    done = run("--size", size)
    assert done.returncode == 2 and f"--size is a positive multiple of 64, got {size}" in done.stderr


def test_the_recipe_of_the_page_times_queued_kernels_after_a_warm_up(monkeypatch, capsys):
    """A pretended GPU, on which a call is queued at once and a kernel takes 2 ms, or 50 while something loads: the first three times."""
    page = (Path(__file__).parents[2] / "book" / "roofline.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(start, end = .*?)```", page, re.S)[1]
    gpu, calls, known = {"queued": 0.0, "done": 0.0}, [], []

    def kernel():
        gpu["queued"] += 50.0 if len(calls) < 3 else 2.0
        calls.append(gpu["queued"])

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing
            known.append(self)

        def record(self):
            self.at = gpu["queued"]

        def elapsed_time(self, other):
            assert other.at <= gpu["done"], "the end has not been reached yet"
            return other.at - self.at

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: gpu.update(done=gpu["queued"]))
    exec(code, {"torch": torch, "f": kernel})
    assert len(known) == 2 and capsys.readouterr().out == "2.0 ms\n"
