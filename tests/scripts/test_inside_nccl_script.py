"""scripts/inside-nccl.py: it reads NCCL's own line, and where there is none it says so and still times."""

import re
import runpy
from pathlib import Path

import pytest
from lanes import some
from torchrun import sound, torchrun

ROOT = Path(__file__).parents[2]
LOG = """\
node:1:9 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}
node:1:9 [0] NCCL INFO AllGather: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}
node:1:9 [0] NCCL INFO AllReduce: 33554432 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={0..15}
"""


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(ROOT / "scripts/inside-nccl.py"))


def test_it_reads_what_nccl_logs(script):
    """The form is that of src/enqueue.cc in 2.26 to 2.30; an AllGather is no AllReduce."""
    assert script["choices"](LOG) == {1024: ("RING", "LL", 1), 33554432: ("NVLS", "SIMPLE", 16)}
    assert script["choices"]("Bytes -> Algo 1 proto 0 time 15.0") == {}


@pytest.mark.parametrize("nranks", some([1, 3], [1], "scripts on other numbers of ranks"))
def test_on_gloo_it_times_and_says_that_nothing_was_logged(nranks):
    done = sound(torchrun("inside-nccl.py", nranks))
    rows = re.findall(r"^ *(\d+) B +([\d.]+) us  not logged", done.stdout, re.M)
    assert [int(nbytes) for nbytes, _ in rows] == [4**k for k in range(5, 14)]
    assert all(float(t) > 0 for _, t in rows)
