"""scripts/halving-doubling.py on real ranks: with and without ranks that fold, bit-equal to dist.all_reduce."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def torchrun(nranks, script):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(nranks), script]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("nranks", [1, 3, 4])
def test_is_bit_equal_on_real_ranks(nranks):
    done = torchrun(nranks, "scripts/halving-doubling.py")
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count(f"gloo, {nranks} ranks:") == done.stdout.count("equal bit by bit") == 3


def test_a_wrong_sum_is_noticed(tmp_path):
    """The script checks itself: where halving takes away instead of adding, it says so and ends with an error."""
    text = (ROOT / "scripts/halving-doubling.py").read_text()
    wrong = text.replace("mine += incoming", "mine -= incoming")
    assert wrong != text
    spoiled = tmp_path / "spoiled.py"
    spoiled.write_text(wrong)
    done = torchrun(2, str(spoiled))
    assert done.returncode and "halving-doubling differs at" in done.stderr
