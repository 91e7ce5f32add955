"""One process beside many: which of the two is which, what counts as wrong, and the slowest GPU's time, on played calls."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist

from helpers.ranks.sweeping import processes
from helpers.ranks.timing.timing import AHEAD
from helpers.units import MIB

GPUS = 3


def total(inputs, outputs):
    for out in outputs:
        out.copy_(sum(inputs))


def gather(inputs, outputs):
    for out in outputs:
        out.copy_(torch.cat(inputs))


def scatter(inputs, outputs):
    for out, part in zip(outputs, sum(inputs).chunk(len(inputs)), strict=True):
        out.copy_(part)


@pytest.fixture
def nccl(monkeypatch):
    """torch.cuda.nccl's three, on tensors of the CPU."""
    calls = {"all_reduce": total, "all_gather": gather, "reduce_scatter": scatter}
    monkeypatch.setattr(processes, "nccl", SimpleNamespace(**calls))
    monkeypatch.setattr(processes.torch, "zeros", lambda size, **_: torch.ones(size) - 1)


@pytest.mark.parametrize("collective", processes.TAKEN)
def test_every_wrong_element_counts(nccl, collective):
    call, inputs, outputs = processes._prepared(collective, 4 * 12 * GPUS, GPUS)
    larger = 12 * GPUS
    assert {len(x) for x in inputs} == {larger // GPUS if collective == "all_gather" else larger}
    assert {len(x) for x in outputs} == {larger // GPUS if collective == "reduce_scatter" else larger}
    assert processes._wrong(collective, call, inputs, outputs) == 0
    assert not any(x.any() for x in inputs), "zeros are left for the clock"

    def broken() -> None:
        call()
        outputs[1][:2] = 0

    assert processes._wrong(collective, broken, inputs, outputs) == 2


def test_the_slowest_gpu_counts_and_all_sleep_until_everything_is_enqueued(monkeypatch):
    at, told = [0], []

    class Event:
        def __init__(self, **_):
            self.gpu = None

        def record(self):
            self.gpu = at[0]
            told.append("event")

        def elapsed_time(self, end):
            assert self.gpu == end.gpu
            return 1000.0 * (1 + self.gpu)  # milliseconds

    @contextlib.contextmanager
    def device(gpu):
        at[0] = gpu
        yield

    cuda = {"Event": Event, "device": device, "synchronize": lambda gpu: None, "_sleep": told.append}
    monkeypatch.setattr(processes, "torch", SimpleNamespace(cuda=SimpleNamespace(**cuda)))
    assert processes._on_gpus(lambda: told.append("call"), GPUS) == 3.0
    assert told == [AHEAD * GPUS, "event"] * GPUS + ["call"] + ["event"] * GPUS


def slowest():
    return processes._slowest(1.0 + dist.get_rank())


def test_the_slowest_rank_counts_on_all(two):
    assert two.run(slowest) == [2.0, 2.0]


def test_one_is_one_and_many_are_many(monkeypatch):
    """Also how many calls each size has, and whose wrong elements are told."""
    asked = []

    class Ranks:
        def __init__(self, nranks, **_):
            self.nranks = nranks

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def run(self, fn, collective, nbytes, warmup, iters):
            asked.append((nbytes, iters))
            return [(processes.Times(self.nranks, 10.0 * self.nranks), 5 * (self.nranks == 1))]

    monkeypatch.setattr(processes, "Ranks", Ranks)
    world = SimpleNamespace(nranks=4, visible="", label="4 ranks")
    monkeypatch.setattr(processes, "place", lambda *_, **__: world)
    found = processes.one_or_many(begin=MIB, end=2 * MIB, factor=2)
    assert [line.nbytes for line in found.lines] == [MIB, 2 * MIB] and found.wrong == 10
    assert all((line.one, line.many) == ((1, 10.0), (4, 40.0)) for line in found.lines)
    assert asked == [(MIB, 20), (2 * MIB, 5)] * 2
