"""A predicted training step through the model of the allocator: the figures that the chapter rests on."""

from pathlib import Path

import pytest
import torch

from helpers.measure import profile_step
from helpers.memory.allocator import replay
from helpers.units import MIB


@pytest.fixture(scope="module")
def trace():
    """One step of the article's model, 16 sequences of 256 tokens, operators as CUDA chooses them."""
    return profile_step(batch=16, seq=256, like_cuda=True).trace


@pytest.mark.parametrize(
    ("expandable", "allocated", "reserved", "calls"), [(False, 1021.3, 1116, 60), (True, 1019.3, 1052, 57)]
)
def test_the_article_s_step_reserves_what_an_independent_simulator_said(trace, expandable, allocated, reserved, calls):
    made = replay(trace, expandable)
    assert made.peak_allocated / MIB == pytest.approx(allocated, abs=0.05)
    assert (made.peak_reserved / MIB, made.device_calls) == (reserved, calls)


def test_blocks_hold_no_less_than_the_tensors_and_little_more(trace):
    made = replay(trace)
    over = made.allocated - trace.total
    assert over.min() >= 0
    assert over.max() <= 12 * MIB  # up to 1 MiB a large block, where the rest was not worth cutting
    assert (made.reserved - made.allocated).min() >= 0


def test_a_device_that_is_too_small_is_said_so_in_the_backward_pass(trace):
    made = replay(trace, limit=1000 * MIB, raises=False)
    assert made.oom is not None
    assert trace.events[len(made) - 1].phase in ("forward", "backward")
    assert made.retries == 1


def test_the_installed_torch_collects_no_garbage_until_a_limit_is_set():
    """What the allocator page says of garbage_collection_threshold: off by default, and the fraction is 1 until it is told."""
    headers = Path(torch.__file__).parent / "include" / "c10"
    cuda = (headers / "cuda" / "CUDAAllocatorConfig.h").read_text()
    assert "m_per_process_memory_fraction{1.0}" in cuda and '"per_process_memory_fraction"' in cuda
    assert "garbage_collection_threshold_{0}" in (headers / "core" / "AllocatorConfig.h").read_text()
