"""scripts/data-parallel.py: buckets leave during backward, and what they leave behind is what DDP has."""

import re
from pathlib import Path

import pytest
import warm
from torchrun import ALONE, STRICT, sound

SCRIPT = Path(__file__).parents[2] / "scripts/data-parallel.py"
LINE = re.compile(r"rank (\d): buckets left after (\[.*\]) gradients; (\S+) from DDP")


def run(script):
    """On two ranks; torch's optimizers and DDP import its compiler, once for both."""
    return warm.run(str(script), nranks=2, loaded=("torch._dynamo",), **ALONE, **STRICT)


def test_three_buckets_leave_before_the_last_gradient_and_the_parameters_are_ddps():
    done = sound(run(SCRIPT))
    found = {int(rank): (left, float(far)) for rank, left, far in LINE.findall(done.stdout)}
    assert found.keys() == {0, 1}
    assert all(left == "[1, 5, 9, 12]" and far < 1e-5 for left, far in found.values())


@pytest.mark.parametrize(
    ("sound", "broken", "said"),
    [
        ("flat /= dist.get_world_size()", "pass", "the parameters differ from DDP's by"),
        ("== len(self.buckets[number]):", "== 4:", "its bucket never left"),
    ],
    ids=["sum instead of mean", "buckets that never leave"],
)
def test_what_is_wrong_in_it_is_told(tmp_path, sound, broken, said):
    text = SCRIPT.read_text()
    assert sound in text
    (tmp_path / "broken.py").write_text(text.replace(sound, broken))
    done = run(tmp_path / "broken.py")
    assert done.returncode != 0 and said in done.stderr
