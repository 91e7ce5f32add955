"""What Gloo puts on the loopback interface: its reduce_scatter is as heavy as its all_reduce, so `Moved.on_gloo` counts it twice."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from helpers.parallel import Moved, counted
from helpers.ranks import Ranks

COUNTERS = Path("/proc/net/dev")
NBYTES = 32 << 20  # so large that nothing else on the interface matters


def through_loopback() -> int:
    """Bytes sent through it since it is up."""
    line = next(line for line in COUNTERS.read_text().splitlines() if line.strip().startswith("lo:"))
    return int(line.split()[9])


def run(op: str) -> Moved:
    whole = torch.ones(NBYTES // 4)
    part = torch.ones(whole.numel() // dist.get_world_size())
    with counted() as moved:
        if op == "all_reduce":
            dist.all_reduce(whole)
        elif op == "reduce_scatter":
            dist.reduce_scatter_tensor(part, whole)
        else:
            dist.all_gather_into_tensor(whole, part)
    return moved


@pytest.mark.alone
@pytest.mark.skipif(not COUNTERS.exists(), reason="needs Linux's /proc/net/dev")
def test_gloo_sends_what_on_gloo_says():
    with Ranks(4, backend="gloo", timeout=60) as ranks:
        ranks.run(run, "all_reduce")
        for op in ("all_reduce", "reduce_scatter", "all_gather"):
            before = through_loopback()
            moved = ranks.run(run, op)
            time.sleep(0.1)
            sent = through_loopback() - before
            assert sent == pytest.approx(float(sum(one.on_gloo() for one in moved)), rel=0.1), op
