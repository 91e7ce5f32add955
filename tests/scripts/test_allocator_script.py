"""scripts/allocator.py: its rules are the model's, a CPU is told what a GPU would do, and what cannot be freed is refused."""

import runpy
from pathlib import Path

import pytest
from torchrun import python, sound

from helpers.memory.allocator import Rules, segment_size
from helpers.units import MIB

SCRIPT = Path(__file__).parents[2] / "scripts" / "allocator.py"


def run(*args):
    return python("allocator.py", *args)


def test_its_rules_are_the_model_s():
    rounded = runpy.run_path(str(SCRIPT))["rounded"]
    for nbytes in (1, 512, 513, MIB, MIB + 1, 10 * MIB - 512, 10 * MIB, 10 * MIB + 1, 77 * MIB + 5):
        block = Rules().round_size(nbytes)
        assert rounded(nbytes) == (block, segment_size(block))


def test_a_cpu_is_told_what_a_gpu_would_do():
    done = sound(run("--mib", "6", "0.5", "-6"))
    if "allocated" not in done.stdout:
        assert done.stdout.splitlines() == [
            "+6 MiB: a block of 6 MiB; if no free block fits, a segment of 20 MiB",
            "+0.5 MiB: a block of 0.5 MiB; if no free block fits, a segment of 2 MiB",
            "-6 MiB: the block is free, its segment stays reserved",
        ]


@pytest.mark.gpus(1)
def test_a_gpu_prints_the_segments():
    done = sound(run("--mib", "6", "3", "-6"))
    assert done.stdout.splitlines()[-2:] == [
        "-6 MiB: 3 MiB allocated, 20 MiB reserved",
        "  large segment of 20 MiB: (6) 3 (11)",
    ]


def test_what_is_not_there_cannot_be_freed():
    done = run("--mib", "6", "-3")
    assert done.returncode == 2
    assert "no tensor of 3 MiB to free" in done.stderr
