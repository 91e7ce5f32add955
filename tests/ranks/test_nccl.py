"""The same on GPUs: NCCL with one GPU per rank. Skipped by name where there are too few."""

from __future__ import annotations

import labs
import psutil
import pytest
import torch
import torch.distributed as dist

from helpers.collectives import CATALOGUE
from helpers.ranks import RankError, Ranks, bench, here, sweep

pytestmark = pytest.mark.gpus(2)


@pytest.fixture(scope="module")
def gpus():
    with Ranks(2, backend="nccl", timeout=5.0) as ranks:
        yield ranks


def test_one_gpu_per_rank_and_a_label_that_says_so(gpus):
    assert gpus.devices == ("cuda:0", "cuda:1") and gpus.label.startswith("2 ranks, nccl, ")
    found = gpus.run(lambda: (dist.get_backend(), str(torch.ones(1).device), torch.cuda.current_device()))
    assert found == [("nccl", "cuda:0", 0), ("nccl", "cuda:1", 1)]
    assert not torch.cuda.is_initialized(), "the notebook's own process holds no GPU memory"


def test_the_whole_catalogue_equals_torch_bit_for_bit(gpus):
    assert gpus.run(labs.differences, labs.cases(2)) == [[], []]


def test_tensors_come_home_on_the_cpu(gpus):
    assert [x.device.type for x in gpus.run(lambda: torch.ones(2))] == ["cpu", "cpu"]


def test_time_is_taken_on_the_stream(gpus):
    def f():
        x = torch.zeros(2**22)
        return bench(dist.all_reduce, x)

    first, second = gpus.run(f)
    assert first == second and 0 < first.min <= first.median
    assert gpus.run(sweep, CATALOGUE["all_reduce", "ring"](nranks=2), [4096])[0][0].nbytes == 4096


@pytest.mark.parametrize(
    "fn, kind",
    [
        (labs.skips_and_sleeps, "stuck"),
        (labs.returns_early, "stuck"),
        (labs.differs_in_op, "mismatch"),
        (labs.raises_on_last, "raised"),
    ],
)
def test_a_stuck_gpu_collective_is_reported_and_the_next_call_works(gpus, fn, kind):
    with pytest.raises(RankError) as caught:
        gpus.run(fn)
    assert caught.value.root.kind == kind and gpus.run(labs.healthy) == [8.0, 8.0]


def test_killed_ranks_hold_no_gpu_memory():
    with Ranks(2, backend="nccl") as ranks:

        def hold():
            here.x = torch.zeros(2**28)
            return psutil.Process().pid

        pids = ranks.run(hold)
    assert not any(map(psutil.pid_exists, pids))
