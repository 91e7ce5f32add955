"""What pages say of torch 2.13 itself and no lab runs: its defaults, names and refusals."""

from types import SimpleNamespace
from unittest import mock

import pytest
import torch
from torch.distributed.fsdp import FSDPModule
from torch.distributed.pipelining import schedules
from torch.distributed.tensor.experimental._context_parallel import _attention
from torch.nn.parallel.distributed import _BucketCapacityConfig

from helpers.patches import TORCH

pytestmark = pytest.mark.skipif(not torch.__version__.startswith(TORCH), reason=f"pages speak of torch {TORCH}")
MIB = 2**20


def test_context_parallel_gathers_keys_and_sends_gradients_in_fp32_by_default():
    options = _attention._ContextParallelOptions()
    assert options.rotate_method is _attention._RotateMethod.ALL_GATHER and options.convert_to_f32


def test_context_parallel_computes_with_its_own_block_while_keys_come(monkeypatch):
    """Page context. The gather is waited for behind the first product."""
    did = []
    gather = mock.Mock(
        exchange_buffers=lambda _: did.append("gather"),
        next_buffer=lambda: did.append("wait") or torch.zeros(2 * 32),
    )
    monkeypatch.setattr(_attention, "_create_rotater", lambda *_: gather)
    monkeypatch.setattr(_attention.dist, "get_rank", lambda _: 0)
    monkeypatch.setattr(_attention.dist, "get_world_size", lambda _: 2)
    monkeypatch.setattr(_attention.dist, "ProcessGroup", object)

    def attend(query, *_, **__):
        did.append("compute")
        return query, query[..., 0]

    one = torch.zeros(1, 2, 4, 4)
    _attention._templated_ring_attention(object(), 2, attend, query=one, key=one, value=one, is_causal=True)
    assert did == ["gather", "compute", "wait", "compute"]


@pytest.mark.parametrize(("cap", "first"), [(None, 1), (4, 4)])
def test_a_cap_of_ones_own_is_the_first_bucket_s_too(cap, first):
    """Pages overlap and data-parallel."""
    found = _BucketCapacityConfig.create(cap, None, False)
    assert (found.first_bucket_bytes_cap, found.bucket_bytes_cap) == (first * MIB, (cap or 25) * MIB)


def test_dials_of_fsdp2_and_the_op_that_reads_sizes_on_the_device():
    """Pages overlap and expert."""
    dials = "set_modules_to_forward_prefetch set_reduce_scatter_max_input_buffers set_separate_reduce_scatter_group"
    assert all(hasattr(FSDPModule, one) for one in dials.split())
    assert torch.ops.symm_mem.all_to_all_vdev


def test_1f1b_refuses_fewer_micro_batches_than_stages_and_interleaving_takes_them():
    """Page meshes."""
    stages = [SimpleNamespace(num_stages=8, group_size=4, group_rank=0, stage_index=at, is_last=False) for at in (0, 4)]
    with pytest.raises(ValueError, match="or equal to the number of stages"):
        schedules.Schedule1F1B(stages[0], n_microbatches=2)
    found = schedules.ScheduleInterleaved1F1B(stages, n_microbatches=2)
    assert (found.number_of_rounds, found.microbatches_per_round) == (1, 2)
