"""scripts/choosing.py: it keeps what NCCL logged beside the times, and tells two runs apart by what was chosen."""

import json
import re
from pathlib import Path

import pytest
from torchrun import python, sound, torchrun

SCRIPT = Path(__file__).parents[2] / "scripts/choosing.py"
SIZES = [2**k for k in range(10, 27, 2)]
LOG = """\
node:1:9 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}
node:1:9 [0] NCCL INFO AllGather: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}
node:1:9 [0] NCCL INFO AllReduce: 33554432 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={0..15}
"""


def test_it_reads_what_nccl_logs():
    pattern = re.search(r'CHOICE = re.compile\(r"(.+?)"\)', SCRIPT.read_text())[1]
    assert re.findall(pattern, LOG) == [
        ("1024", "RING", "LL"),
        ("33554432", "NVLS", "SIMPLE"),
    ]


@pytest.mark.parametrize("nranks", [2])
def test_on_gloo_it_keeps_times_and_says_that_nothing_was_logged(nranks, tmp_path):
    kept = tmp_path / "before.json"
    done = sound(torchrun("choosing.py", nranks, str(kept)))
    rows = json.loads(kept.read_text())
    assert [int(nbytes) for nbytes in rows] == SIZES and done.stdout.startswith("9 sizes in ")
    assert all(way == "not logged" and seconds > 0 for way, seconds in rows.values())


def test_an_arrow_stands_where_another_way_was_chosen(tmp_path):
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    before.write_text(json.dumps({8388608: ["RING/LL128", 48.6e-6], 1024: ["RING/LL", 9e-6], 64: ["RING/LL", 8e-6]}))
    after.write_text(json.dumps({8388608: ["RING/SIMPLE", 85e-6], 1024: ["RING/LL", 9e-6]}))
    lines = python("choosing.py", str(before), str(after)).stdout.splitlines()
    assert [re.sub(r" +", " ", line.strip()) for line in lines] == [
        "8388608 B 48.6 us, then 85.0 us RING/LL128 -> RING/SIMPLE",
        "1024 B 9.0 us, then 9.0 us RING/LL",
    ]
    assert "expected the name of a file" in python("choosing.py").stderr
