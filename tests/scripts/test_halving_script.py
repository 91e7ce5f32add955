"""scripts/halving-doubling.py on real ranks: with and without ranks that fold, bit-equal to dist.all_reduce."""

from pathlib import Path

import pytest
from torchrun import sound, torchrun

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("nranks", [1, 3, 4])
def test_is_bit_equal_on_real_ranks(nranks):
    done = sound(torchrun("halving-doubling.py", nranks))
    assert done.stdout.count(f"gloo, {nranks} ranks:") == done.stdout.count("equal bit by bit") == 3


def test_a_wrong_sum_is_noticed(tmp_path):
    """The script checks itself: where halving takes away instead of adding, it says so and ends with an error."""
    text = (ROOT / "scripts/halving-doubling.py").read_text()
    wrong = text.replace("mine += incoming", "mine -= incoming")
    assert wrong != text
    spoiled = tmp_path / "spoiled.py"
    spoiled.write_text(wrong)
    done = torchrun(spoiled, 2)
    assert done.returncode and "halving-doubling differs at" in done.stderr
