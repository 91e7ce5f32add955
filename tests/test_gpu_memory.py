"""The memory checks of make gpu-check, with stand-ins for CUDA's counters here, and for real where there is a GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from helpers.measure import cuda_like, track
from helpers.memory import Event, Trace
from helpers.memory.allocator import replay
from helpers.memory.snapshot import read, snapshot_of
from helpers.units import MIB
from tools.gpu import memory, prediction, rates
from tools.gpu.alone import ask
from tools.gpu.checks import CHECKS
from tools.gpu.counters import Beside, Held
from tools.gpu.place import Place

TINY = prediction.TINY


class Counted:
    """A stand-in for CUDA's counters: the tracker's own total, and `more` bytes from operator `late` on."""

    def __init__(self, more: int = 0, late: int = 50):
        self.more, self.late, self.asked, self.look, self.most = more, late, 0, None, 0

    def __call__(self) -> Held:
        self.asked += 1
        total = self.look.total if self.look else 0
        total += 512 + self.more * (self.asked > self.late)
        self.most = max(self.most, total)
        return Held(total, total)


@pytest.fixture
def counted(monkeypatch):
    """beside() with a stand-in for the counters: (counters) -> figures."""

    def run(counters):
        def looking(source):
            counters.look = Beside(source)
            return counters.look

        monkeypatch.setattr(memory, "Beside", looking)
        return memory.beside("cpu", counters, lambda: None, lambda: Held(counters.most, counters.most))

    return run


def test_counters_that_agree_at_every_operator(counted):
    found = counted(Counted())
    assert found["ops"] == found["equal"] > 300 and found["changes"] == []
    assert abs(found["share"]) < 0.02


def test_bytes_that_the_tracker_does_not_see_are_named(counted):
    found = counted(Counted(more=4096))
    assert found["equal"] < found["ops"] and [nbytes for _, nbytes in found["changes"]] == [4096]
    assert found["changes"][0][0].startswith("aten::"), "during which operator"


def test_a_free_that_python_hears_of_a_moment_later_is_no_difference(counted):
    """At one operator the counters hold less; at the next they agree again."""

    class Early(Counted):
        def __call__(self):
            held = super().__call__()
            less = 4096 * (self.asked == self.late)
            return Held(held.requested - less, held.allocated - less)

    found = counted(Early())
    assert found["equal"] == found["ops"] - 1 and [nbytes for _, nbytes in found["changes"]] == [-4096, 4096]


@pytest.mark.parametrize(
    "more, said", [(10**7, "10000000 bytes beside the tracker"), (-4096, "counts 4096 bytes that were not asked for")]
)
def test_counters_that_disagree_fail_the_check(counted, more, said):
    with pytest.raises(AssertionError, match=said):
        counted(Counted(more=more))


def small_trace():
    model = torch.nn.Sequential(*[torch.nn.Linear(700, 700) for _ in range(6)])
    with track(model) as watch:
        model(torch.rand(64, 700)).sum().backward()
    return watch.trace


def test_the_allocators_model_beside_a_snapshot():
    """The snapshot is the model's own here, written in torch's format; a byte more, and the check fails."""
    made = replay(small_trace())
    snapshot = snapshot_of(made)
    told = memory.modelled(read(snapshot), expandable=False)
    assert told["equal"] == told["blocks"] > 4 and told["reserved"][0] == told["reserved"][1]
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            block["state"] = "inactive" if block["state"] != "inactive" else "active_allocated"
    with pytest.raises(AssertionError, match=r"of the allocator against a snapshot: 0 of \d+ blocks equal"):
        memory.modelled(read(snapshot), expandable=False)


def test_whole_blocks_count_as_allocated_and_are_no_difference():
    """3 MiB in a free block of 4 MiB: nobody cuts so small a rest off. Bytes asked for are the tracker's, those in blocks the model's."""
    told = [("alloc", 0, 4), ("alloc", 1, 16), ("free", 0, 4), ("alloc", 2, 3)]
    made = replay(Trace(tuple(Event(kind, block, n * MIB, "temporary") for kind, block, n in told), "predicted (meta)"))
    snapshot, marks = read(snapshot_of(made)), (Event("mark", -1, 0, "temporary", op="model"),)
    tracked = Trace((Event("alloc", 0, 3 * MIB, "parameter"), *marks), "tracked (CUDA tensors)")
    looks = [Held(16 * MIB, 16 * MIB, 3), Held(19 * MIB, 20 * MIB, 4)]
    assert memory.counted_stages(tracked, looks, snapshot) == [{"requested": 3 * MIB, "allocated": 4 * MIB}]
    for looks[1], said in (
        (Held(27 * MIB, 20 * MIB, 4), "model, tracked: 3145728 bytes, not 11534336"),
        (Held(19 * MIB, 20 * MIB + 512, 4), "model, the allocator's model: 4194304 bytes, not 4194816"),
    ):
        with pytest.raises(AssertionError, match=said):
            memory.counted_stages(tracked, looks, snapshot)


def test_a_prediction_beside_a_real_model():
    """On the CPU, with its own operators. Its layer norm keeps statistics in 16 bits; the step counts of AdamW lie on the CPU."""
    real, predicted = (prediction.train(TINY, 2, 32, device, 2, "math") for device in ("cpu", "meta"))
    found = prediction.agreement(real, predicted)
    assert abs(found["share"]) < 1e-3 and set(found["operators that differ"]) == {"aten::native_layer_norm"}
    with cuda_like():
        other = prediction.train(replace(TINY, ffn=512), 2, 32, "meta", 2, "math")
    with pytest.raises(AssertionError, match="what forward keeps"):
        prediction.agreement(real, other)


def test_what_is_near():
    assert memory.near("x", 101, 100) == pytest.approx(0.01)
    with pytest.raises(AssertionError, match=r"x: 110 bytes, not 100 \(\+10.00%, allowed 2%\)"):
        memory.near("x", 110, 100)
    with pytest.raises(AssertionError, match="x: 0 bytes to compare with"):
        memory.near("x", 1, 0)


def test_a_check_alone_tells_what_it_raised():
    with pytest.raises(AssertionError, match="only CUDA counts"):
        ask(memory.op_by_op, "cpu")


def test_checks_that_need_a_gpu_are_skipped_by_name():
    skipped = {check.name: check.skipped(Place("gloo", 2, 0)) for check in CHECKS if check.cuda}
    assert set(skipped.values()) == {"needs a GPU"} and len(skipped) == 10
    assert {c.name for c in CHECKS if c.cuda and c.skipped(Place("nccl", 2, 1))} == {
        "GPU to GPU",
        "parallel: pipelines wait",
        "parallel: overlap",
        "parallel: context beside torch's",
    }


@pytest.mark.gpus(1)
@pytest.mark.parametrize(
    "check",
    [
        memory.op_by_op,
        memory.stages,
        memory.segments,
        memory.expandable,
        memory.optimizers,
        prediction.predictions,
        rates.links,
    ],
)
def test_on_a_gpu(check):
    assert ask(check, "cuda", **memory.EXPANDABLE if check is memory.expandable else {})


@pytest.mark.gpus(2)
def test_between_gpus():
    assert ask(rates.between, "cuda")["pairs"] >= 2
