"""The device of a lab where there is no GPU that torch could use, and why not. Where there is one: tests/test_fake_cuda.py."""

from __future__ import annotations

import warnings

import pytest
import torch

from helpers.measure import allocator_counts, find_device, play, snapshot_after
from helpers.memory.allocator import program
from helpers.ranks.machine.gpus import Gpus
from helpers.tracker import device


@pytest.fixture(autouse=True)
def no_cuda(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def test_without_a_gpu_it_is_the_cpu_and_nobody_is_warned(monkeypatch):
    monkeypatch.setattr(device, "find_gpus", Gpus)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = find_device()
    assert (found.type, found.name, found.is_gpu) == ("cpu", "CPU", False) and found.free > 10**6
    assert str(found) == "measured here: the CPU, since there is no GPU that torch could use"
    assert found.record_of("ladder") == "ladder-cpu"


def test_a_gpu_that_is_of_no_use_is_said(monkeypatch):
    monkeypatch.setattr(device, "find_gpus", lambda: Gpus(trouble="The driver is too old."))
    with pytest.warns(RuntimeWarning, match="The driver is too old"):
        assert find_device().type == "cpu"


def test_cuda_that_does_not_start_is_said_with_what_helps(monkeypatch):
    def fails(*_):
        raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", fails)
    with pytest.warns(RuntimeWarning, match="CUDA error: out of memory\nAnother process holds its memory"):
        assert find_device().type == "cpu"


def test_what_only_a_gpu_can_tell_is_refused(monkeypatch):
    for ask in (allocator_counts, lambda: snapshot_after(list), lambda: play(program("a = 1 MiB"))):
        with pytest.raises(RuntimeError, match=r"allocator.* needs a GPU: "):
            ask()
