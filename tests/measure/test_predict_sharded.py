"""predict_step with sharding: the states of one rank are the closed form's to the byte, and every way shows where it saves."""

from __future__ import annotations

from dataclasses import replace
from time import process_time

import pytest
import torch
from torch import nn

from helpers.facts import MODELS
from helpers.measure.predict.predict import predict_step
from helpers.measure.sharding import Sharding, ShardingError
from helpers.memory import CLASSES
from helpers.memory.allocator import replay
from helpers.memory.closed_form import activations, fsdp2_states, states
from helpers.step.models import build
from helpers.torch_versions import has

LLAMA = replace(MODELS["Llama-2-7B"], layers=2)
SEQ = 512
STATES = ("parameter", "gradient", "optimizer")


def units() -> list[int]:
    """Parameters of each block, and of all the rest."""
    block = LLAMA.layer_nparams()
    return [block] * LLAMA.layers + [LLAMA.nparams - LLAMA.layers * block]


def blocks_of(units, precision, zero, nranks) -> dict[str, int]:
    """The closed form's states, each of them one block of a multiple of 512 bytes for each unit, as CUDA hands them out."""
    found = dict.fromkeys(STATES, 0)
    for term in (term for unit in units for term in states(unit, precision, zero=zero, nranks=nranks)):
        found[term.cls] += -(-term.nbytes // 512) * 512
    return found


@pytest.mark.parametrize("nranks", [2, 8, 64])
@pytest.mark.parametrize("zero", [1, 2, 3])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_zero_states_of_one_rank_are_the_formulas(zero, nranks, precision):
    found = predict_step(LLAMA, seq=SEQ, precision=precision, sharding=Sharding(data=nranks, zero=zero)).trace.at(
        "after step"
    )
    assert {cls: found[cls] for cls in STATES} == blocks_of(units(), precision, zero, nranks)
    assert found["communication"] == 0


def test_ddp_holds_the_gradients_twice():
    alone, ddp = (predict_step(LLAMA, seq=SEQ, sharding=Sharding(data=n)) for n in (1, 8))
    assert ddp.trace.at("after step")["communication"] == ddp.trace.at("after step")["gradient"] == 2 * LLAMA.nparams
    assert ddp.peak.nbytes - alone.peak.nbytes == 2 * LLAMA.nparams


def test_stage_three_gathers_a_block_ahead_and_no_more():
    """In forward: two blocks, and the rest of the model, which stays gathered."""
    prediction = predict_step(LLAMA, seq=SEQ, sharding=Sharding(data=8, zero=3))
    *blocks, outer = units()
    assert prediction.trace.at("after forward")["communication"] == 2 * outer
    column = prediction.trace.by_class[:, CLASSES.index("communication")]
    forward = [int(column[i]) for i, e in enumerate(prediction.trace.events) if e.phase == "forward"]
    assert max(forward) == 2 * (outer + 2 * blocks[0])


@pytest.mark.parametrize("nranks", [2, 64])
def test_megatrons_distributed_optimizer_keeps_6_and_12_over_d(nranks):
    """Megatron-LM's docs/user-guide/features/dist_optimizer.md: bf16 weights, fp32 gradients whole, 12 bytes shared out."""
    done = predict_step(LLAMA, seq=SEQ, precision="bf16-fp32grads", sharding=Sharding(data=nranks, zero=1))
    found = done.trace.at("after step")
    assert {cls: found[cls] for cls in STATES} == blocks_of(units(), "bf16-fp32grads", 1, nranks)
    assert sum(found[cls] for cls in STATES) == pytest.approx((6 + 12 / nranks) * LLAMA.nparams, rel=1e-5)


@pytest.mark.parametrize("optimizer", ["sgd", "adamw", "adamw-foreach", "adamw-fused"])
def test_optimizers_work_on_shares(optimizer):
    found = predict_step(LLAMA, seq=SEQ, optimizer=optimizer, sharding=Sharding(data=8, zero=2)).trace.at("after step")
    assert found["optimizer"] == states(units(), "bf16", optimizer, zero=2, nranks=8).nbytes["optimizer"]


@pytest.mark.parametrize("checkpoint", ["none", "selective", "full"])
def test_tensor_and_sequence_with_checkpointing(checkpoint):
    sharding = Sharding(tensor=4, sequence=True)
    found = predict_step(LLAMA, seq=SEQ, checkpoint=checkpoint, sharding=sharding).trace.at("after forward")
    want = activations(LLAMA, 1, SEQ, checkpoint=checkpoint, sharding=sharding).total
    assert found["activation"] == pytest.approx(want, rel=0.005)


def test_all_ways_together():
    """A rank of 64: a quarter of the layers, half of each, an eighth of Adam's state."""
    sharding = Sharding(data=8, zero=1, tensor=2, sequence=True, pipeline=4, stage=1, micro_batches=8)
    shape = replace(LLAMA, layers=8)
    prediction = predict_step(shape, seq=SEQ, sharding=sharding)
    block = 2 * shape.hidden + (shape.layer_nparams() - 2 * shape.hidden) // 2
    assert {cls: prediction.trace.at("after step")[cls] for cls in STATES} == blocks_of([block] * 2, "bf16", 1, 8)
    assert prediction.trace.about["label"].endswith(
        "8 data, ZeRO-1, tensor 2 with sequence, stage 1 of 4, 8 micro-batches"
    )


def test_llama_3_70b_under_fsdp2_with_torchtitans_checkpointing_on_64_ranks():
    """Seconds, and its states are the closed form's to the byte; beside them a fused AdamW's step counts, a block each."""
    shape, start = MODELS["Llama-3-70B"], process_time()
    sharding = Sharding(data=64, zero=3)
    done = predict_step(
        shape, seq=8192, precision="fsdp2", checkpoint="per-op", optimizer="adamw-fused", sharding=sharding
    )
    assert process_time() - start < 25  # five times what is promised
    shapes = [tuple(p.shape) for p in build(shape).parameters()]
    want = dict(fsdp2_states(shapes, 64).nbytes)
    found = done.trace.at("after step")
    assert {cls: found[cls] for cls in STATES} == want | {"optimizer": want["optimizer"] + 512 * len(shapes)}
    assert sum(want.values()) == 16 * shape.nparams // 64
    assert found["communication"] == found["activation"] == 0
    # A token keeps, of each layer: its input, of seven products q, v, gate and down, attention's output and one fp32 number a head.
    kept = 2 * shape.hidden + 2 * (shape.heads * shape.head_dim + shape.kv_hidden + shape.ffn + shape.hidden)
    kept += 2 * shape.heads * shape.head_dim + 4 * shape.heads
    after = done.trace.at("after forward")["activation"]
    assert after == pytest.approx(8192 * (shape.layers * kept + 4 * shape.vocab), rel=0.005)


def test_outside_a_pipeline_every_micro_batch_of_fsdp2_is_reduced():
    """So micro_batches are accumulate's. In a pipeline gradients are added up whole, in the reduction's type."""
    how = {"precision": "fsdp2", "seq": SEQ, "checkpoint": "full"}
    apart = predict_step(LLAMA, sharding=Sharding(data=2, zero=3, micro_batches=2), **how).trace
    added = predict_step(LLAMA, sharding=Sharding(data=2, zero=3), accumulate=2, **how).trace
    assert abs(apart.peak.nbytes - added.peak.nbytes) <= 512, "the loss is there or is not"
    done = predict_step(LLAMA, sharding=Sharding(data=2, zero=2, pipeline=2, micro_batches=2), **how)
    half = LLAMA.layers // 2 * LLAMA.layer_nparams() + LLAMA.vocab * LLAMA.hidden
    assert 4 * half <= max(map(int, done.trace.by_class[:, CLASSES.index("gradient")])) < 4 * half * 1.5


def test_a_module_of_your_own_is_shared_out_by_data():
    model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(4)])
    ask = {"inputs": torch.empty(8, 64), "loss": torch.sum, "precision": "fp32"}
    found = predict_step(model, sharding=Sharding(data=4, zero=3), **ask).trace.at("after step")
    assert found["parameter"] == blocks_of([64 * 65] * 4, "fp32", 3, 4)["parameter"]
    with pytest.raises(ShardingError, match="shared out by data and zero only, got tensor 2"):
        predict_step(model, sharding=Sharding(tensor=2), **ask)


@pytest.mark.parametrize(
    "ask, said",
    [
        ({"sharding": Sharding(tensor=3)}, "tensor=3 ranks cannot share heads=32"),
        (
            {"sharding": Sharding(tensor=2, sequence=True), "chunking": "liger"},
            "wants every token and the whole vocabulary in one kernel",
        ),
        (
            {"sharding": Sharding(data=2, zero=2), "precision": "bf16-fp32grads"},
            "precision bf16 or fp32, got bf16-fp32grads",
        ),
        (
            {"sharding": Sharding(data=2, zero=1), "precision": "fsdp2"},
            "zero is 3, or 2 to keep what was gathered, got 1",
        ),
    ],
)
def test_what_cannot_be_is_refused(ask, said):
    with pytest.raises(ShardingError) as refused:
        predict_step(LLAMA, seq=SEQ, **ask)
    assert said in str(refused.value)


def test_a_tied_head_in_pieces_is_refused_under_zero():
    """Its gradient has a term from every piece, and one more from the embedding when backward ends."""
    ask = {"sharding": Sharding(data=2, zero=2), "chunking": "torchtitan", "chunks": 4, "seq": SEQ}
    with pytest.raises(ShardingError, match="a tied head's gradient is not whole with its last piece"):
        predict_step(replace(LLAMA, tied=True), **ask)
    predict_step(LLAMA, **ask)


@pytest.mark.skipif(not has("types-of-a-unit", torch.__version__), reason="FSDP2 refuses it up to torch 2.12")
def test_pieces_free_the_logits_under_fsdp2_and_one_gradient_of_the_table_stays():
    """Llama-2's loss on eight ranks: forward ends with the fp32 input of the head's reduction, and no table."""
    whole, pieces = (
        predict_step(
            LLAMA, seq=4096, precision="fsdp2", chunking="torchtitan", chunks=n, sharding=Sharding(data=8, zero=3)
        )
        for n in (1, 8)
    )
    logits, table = 4096 * LLAMA.vocab, LLAMA.vocab * LLAMA.hidden
    assert whole.trace.at("after forward")["activation"] - pieces.trace.at("after forward")["activation"] > 4 * logits
    assert pieces.trace.at("after forward")["communication"] == 4 * table
    assert whole.trace.at("after forward")["communication"] == 2 * (table + LLAMA.hidden)


@pytest.mark.parametrize("sharding", [None, Sharding(data=8, zero=3)], ids=str)
def test_what_is_reserved_stands_beside_what_is_allocated(sharding):
    """Tensors fit into blocks, blocks into segments; growing segments waste less, and a device needs no more."""
    done = predict_step(LLAMA, seq=SEQ, sharding=sharding, precision="bf16" if sharding is None else "fsdp2")
    assert done.peak.nbytes <= done.allocated < done.reserved
    assert replay(done.trace, expandable=True).peak_reserved < done.reserved
    assert replay(done.trace, limit=done.reserved).retries == 0
    assert replay(done.trace, limit=done.allocated - 1, raises=False).oom is not None
