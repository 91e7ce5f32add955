"""The same on GPUs: NCCL with one GPU per rank, and with ranks that share one. Skipped by name where there are too few.

`make gpu-check` asks the same and more, with figures.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time

import labs
import psutil
import pytest
import torch
import torch.distributed as dist

from helpers.collectives import CATALOGUE
from helpers.ranks import RankError, Ranks, bench, here, one_or_many, paired, sweep, traced
from helpers.ranks.hangs import ask_ras
from helpers.ranks.primitives import perform_all

two_gpus = pytest.mark.gpus(2)


@pytest.fixture(scope="module")
def gpus():
    with Ranks(2, backend="nccl", timeout=5.0) as ranks:
        yield ranks


@two_gpus
def test_one_gpu_per_rank_and_a_label_that_says_so(gpus):
    assert gpus.devices == ("cuda:0", "cuda:1") and gpus.label.startswith("2 ranks, nccl, ")
    found = gpus.run(lambda: (dist.get_backend(), str(torch.ones(1).device), torch.cuda.current_device()))
    assert found == [("nccl", "cuda:0", 0), ("nccl", "cuda:1", 1)]
    assert not torch.cuda.is_initialized(), "the notebook's own process holds no GPU memory"


@two_gpus
def test_the_whole_catalogue_equals_torch_bit_for_bit(gpus):
    assert gpus.run(labs.differences, labs.cases(2)) == [[], []]


@two_gpus
def test_every_dtype_and_reduction_that_nccl_has(gpus):
    """NCCL reduces nothing bit by bit, and knows no complex numbers; its integers are averaged too, by a test of their own."""
    bits, others = ("band", "bor", "bxor"), ("bool", "complex64", "complex128")
    cases = [case for case in labs.typed(2) if case.op not in bits and case.dtype not in others]
    integers = [
        labs.Case(str(CATALOGUE["all_reduce", "ring"](nranks=2)), (97,), dtype, "avg") for dtype in ("int32", "int64")
    ]
    assert gpus.run(labs.differences, cases + integers) == [[], []]


@two_gpus
def test_a_trace_is_stamped_by_the_gpus_own_clocks(gpus):
    run = traced(gpus, CATALOGUE["all_reduce", "ring"](nranks=2), 2**20, reps=3)
    assert [(m["step"], m["src"], m["dst"]) for m in run["messages"]] == [(1, 0, 1), (1, 1, 0), (2, 0, 1), (2, 1, 0)]
    for m in run["messages"]:
        assert 0 <= m["send"][0] < m["send"][1] <= run["seconds"] + 1e-4
        assert m["recv"][1] > m["send"][0] - 2 * run["clock"]["error"]


@two_gpus
def test_tensors_come_home_on_the_cpu(gpus):
    assert [x.device.type for x in gpus.run(lambda: torch.ones(2))] == ["cpu", "cpu"]


@two_gpus
def test_time_is_taken_on_the_stream(gpus):
    def f():
        x = torch.zeros(2**22)
        return bench(dist.all_reduce, x)

    first, second = gpus.run(f)
    assert first == second and 0 < first.min <= first.median
    assert gpus.run(paired, CATALOGUE["all_reduce", "ring"](nranks=2), [4096])[0][0].nbytes == 4096


@two_gpus
def test_what_a_sweep_sets_is_what_nccl_takes():
    found = sweep(algo="Ring", proto=("LL", "LL128", "Simple"), begin="1 KiB", end="64 KiB", nranks=2)
    assert not found.wrong and {row.took_effect for row in found.rows} == {True}, str(found)


@two_gpus
def test_one_process_gives_what_many_give():
    assert one_or_many(begin="1 KiB", end="64 KiB", nranks=2).wrong == 0


@pytest.mark.gpus(1)
def test_ranks_that_share_a_gpu_have_a_log_and_no_times():
    found = sweep(proto=("LL", "Simple"), begin="1 KiB", end="16 KiB", one_gpu=True)
    assert not found.wrong and all(row.took_effect and row.seconds is None for row in found.rows), str(found)


@two_gpus
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


@two_gpus
def test_killed_ranks_hold_no_gpu_memory():
    with Ranks(2, backend="nccl") as ranks:

        def hold():
            here.x = torch.zeros(2**28)
            return psutil.Process().pid

        pids = ranks.run(hold)
    assert not any(map(psutil.pid_exists, pids))


@pytest.fixture(scope="module")
def sharing():
    """Two ranks on the first GPU, as on a machine that has no other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", "0")
        with Ranks(2, backend="nccl", timeout=10.0) as ranks:
            yield ranks


@pytest.mark.gpus(1)
def test_ranks_that_share_a_gpu_give_right_results_and_no_times(sharing):
    assert sharing.devices == ("cuda:0", "cuda:0") and sharing.label.endswith("shares a GPU: not timed")
    assert all(moved.right for each in sharing.run(perform_all) for moved in each)
    with pytest.raises(RankError, match="these ranks share a GPU: their times mean nothing"):
        sharing.run(bench, labs.healthy)


@pytest.mark.gpus(1)
@pytest.mark.parametrize("fn, kind", [(labs.skips_and_sleeps, "stuck"), (labs.raises_on_last, "raised")])
def test_ranks_that_share_a_gpu_are_told_apart_when_they_fail(sharing, fn, kind):
    with pytest.raises(RankError) as caught:
        sharing.run(fn)
    assert caught.value.root.kind == kind and sharing.run(labs.healthy) == [8.0, 8.0]


@pytest.mark.gpus(1)
def test_a_parent_that_has_used_cuda_starts_ranks_and_they_leave_no_memory(root):
    """In a process of its own, since a process that has started CUDA cannot take it back."""
    script = """
import psutil, pynvml, torch
from helpers.ranks import Ranks
a = torch.ones(1000, 1000, device="cuda")
with Ranks(2, backend="nccl") as ranks:
    pids = ranks.run(lambda: psutil.Process().pid)
pynvml.nvmlInit()
handle = pynvml.nvmlDeviceGetHandleByIndex(0)
assert not set(pids) & {p.pid for p in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)}
assert (a @ a)[0, 0].item() == 1000
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def stay_away():
    """Rank 1 has not launched what rank 0 waits in."""
    x = torch.ones(1024)
    dist.all_reduce(x)
    if dist.get_rank() == 0:
        dist.all_reduce(x)
        torch.cuda.synchronize()
    time.sleep(60)


@two_gpus
def test_ras_says_that_one_rank_has_launched_less():
    with Ranks(2, backend="nccl", timeout=60.0) as ranks:
        call = ranks.run_async(stay_away)
        try:
            late, told = time.monotonic() + 20, ""
            while "MISMATCH" not in told and time.monotonic() < late:
                time.sleep(0.5)
                told = ask_ras()
        finally:
            call.stop()
    assert re.search(r"different (AllReduce|collective) operation counts", told), told
