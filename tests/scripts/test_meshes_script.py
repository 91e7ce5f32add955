"""scripts/meshes.py: slices and shards of slices train as one process does, and what does not divide is said."""

import re

import pytest
from lanes import some
from torchrun import torchrun

SLOW = ("torch._dynamo", "torch.distributed.tensor.parallel", "torch.distributed.fsdp")  # to import: seconds
LINE = r"rank (\d) \(shard (\d), tensor (\d)\): ([\d,]+) of ([\d,]+) numbers, (\S+) off"


def test_four_ranks_train_as_one_and_hold_a_quarter_of_the_matrices():
    done = torchrun("meshes.py", 4, loaded=SLOW)
    assert done.returncode == 0 and not done.stderr, done.stderr[-2000:]
    rows = sorted(re.findall(LINE, done.stdout))
    assert [tuple(map(int, row[:3])) for row in rows] == [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1)]
    for *_, held, every, far in rows:
        held, every = (int(number.replace(",", "")) for number in (held, every))
        biases = 2 * 64  # of the second maps: not cut into slices, but into two shards
        assert held == (every - biases) // 4 + biases // 2
        assert float(far) < 1e-10


@pytest.mark.parametrize("asked", some(["3", "0", "two"], ["3"], "refused in the same line"))
def test_what_does_not_divide_is_refused(asked):
    done = torchrun("meshes.py", 2, asked, loaded=SLOW)
    assert done.returncode and f"{asked} tensor ranks must divide 2 ranks" in done.stderr
