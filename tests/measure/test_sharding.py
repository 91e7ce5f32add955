"""One rank's part on paper: its activations are the closed form's, its parameters a slice, and what cannot be is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from helpers.facts import MODELS
from helpers.measure import track
from helpers.measure.predict.like_cuda import cuda_like
from helpers.measure.sharding import (
    Pipeline,
    Sharding,
    ShardingError,
    bucket_sizes,
    make_buckets,
    part,
)
from helpers.memory.closed_form import activations
from helpers.pipeline import SCHEDULES, most_waiting, peak
from helpers.units import MIB

LLAMA = replace(MODELS["Llama-2-7B"], layers=4)
GPT = replace(MODELS["GPT-2-XL"], layers=4)
MIXTRAL = replace(MODELS["Mixtral-8x7B"], layers=2)
SEQ = 1024


def traced(shape, sharding, batch=1, seq=SEQ):
    """The trace of one step's forwards and backwards in bf16, as CUDA's operators would go."""
    with cuda_like():
        mine = part(shape, sharding, seq, dtype=torch.bfloat16)
        tokens = torch.empty(batch, seq, dtype=torch.long, device="meta")
        with track(mine, inputs=tokens) as watch:
            pipeline = Pipeline(mine, lambda: (tokens, tokens), watch.phase)
            pipeline.fill()
            watch.mark("after forward")
            pipeline.drain()
    return mine, watch.trace


@pytest.mark.parametrize("sequence", [False, True])
@pytest.mark.parametrize("shape, tensor", [(LLAMA, 2), (LLAMA, 8), (GPT, 5), (MODELS["GPT-2"], 4)])
def test_tensor_parallel_activations_are_the_closed_forms(shape, tensor, sequence):
    seq = 1000 if tensor == 5 else SEQ
    _, trace = traced(shape, Sharding(tensor=tensor, sequence=sequence), seq=seq)
    want = activations(shape, 1, seq, sharding=Sharding(tensor=tensor, sequence=sequence)).total
    assert trace.at("after forward")["activation"] == pytest.approx(want, rel=0.005)


def test_experts_elsewhere_keep_what_experts_here_keep_in_balance():
    there, trace = traced(MIXTRAL, Sharding(data=8, expert=8))
    here, _ = traced(MIXTRAL, Sharding(data=8))
    want = activations(MIXTRAL, 1, SEQ).total
    assert trace.at("after forward")["activation"] == pytest.approx(want, rel=0.005)
    experts = 3 * MIXTRAL.hidden * MIXTRAL.ffn * MIXTRAL.layers
    assert count(here) - count(there) == 7 * experts, "one expert of eight in each layer"
    sent = [e.nbytes for e in trace.events if e.kind == "alloc" and e.op.endswith("all_to_all_single")]
    rows = SEQ * MIXTRAL.active * MIXTRAL.hidden * 2
    assert sent == [rows] * 4 * MIXTRAL.layers, "rows out and answers back, forward and backward"


def count(model) -> int:
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("tensor", [2, 4, 8])
def test_parameters_are_a_slice(tensor):
    """Everything but the norms is divided; all of it counted by hand."""
    mine, _ = traced(LLAMA, Sharding(tensor=tensor))
    norms = (2 * LLAMA.layers + 1) * LLAMA.hidden
    assert count(mine) == (LLAMA.nparams - norms) // tensor + norms


def test_the_stages_of_a_pipeline_hold_every_parameter_once():
    parts = [part(LLAMA, Sharding(pipeline=4, stage=i)) for i in range(4)]
    assert sum(map(count, parts)) == LLAMA.nparams
    assert [one.embedding is None for one in parts] == [False, True, True, True]
    assert [one.head is None for one in parts] == [True, True, True, False]


@pytest.mark.parametrize(
    "stage, pipeline, micro_batches, most", [(0, 4, 8, 4), (3, 4, 8, 1), (0, 4, 2, 2), (1, 4, 3, 3)]
)
def test_1f1b_keeps_the_micro_batches_that_the_paper_says(stage, pipeline, micro_batches, most):
    s = SCHEDULES["1f1b"](pipeline, micro_batches)
    found = Sharding(pipeline=pipeline, stage=stage, micro_batches=micro_batches).in_flight
    assert peak(s)[stage] == most_waiting(s, stage) == most == found


def test_the_first_stage_keeps_as_much_as_the_whole_model_does():
    """With enough micro-batches: a quarter of the layers, four times."""
    _, trace = traced(LLAMA, Sharding(pipeline=4, stage=0, micro_batches=4))
    blocks = activations(LLAMA, 1, SEQ)["blocks"].nbytes
    kept = trace.at("after forward")
    assert kept["activation"] == pytest.approx(blocks, rel=0.03), "and the angles of each micro-batch"
    _, last = traced(LLAMA, Sharding(pipeline=4, stage=3, micro_batches=4))
    assert last.at("after forward")["activation"] < 0.6 * kept["activation"]


def test_the_middle_of_a_pipeline_receives_both_ways():
    _, trace = traced(LLAMA, Sharding(pipeline=4, stage=1, micro_batches=2))
    stream = SEQ * LLAMA.hidden * 2
    got = {}
    for e in trace.events:
        if e.kind == "class" and e.cls == "communication" and e.nbytes == stream:
            got.setdefault(e.block, e.phase)
    assert list(got.values()) == ["forward", "forward", "backward", "backward"]


def test_sequence_parallel_gathers_before_every_matmul_and_scatters_after():
    """In forward twice a block and before the head; nothing of that is left at its end."""
    _, trace = traced(LLAMA, Sharding(tensor=8, sequence=True))
    whole = SEQ * LLAMA.hidden * 2
    forward = [e for e in trace.events if e.phase == "forward" and e.kind == "alloc" and "all_gather" in e.op]
    assert [e.nbytes for e in forward] == [whole] * (2 * LLAMA.layers + 1)
    assert trace.at("after forward")["communication"] == 0


@pytest.mark.parametrize(
    "name, sharding, seq, said",
    [
        ("GPT-2-XL", Sharding(tensor=2), SEQ, "tensor=2 ranks cannot share heads=25 of GPT-2-XL evenly"),
        ("Llama-2-70B", Sharding(tensor=16), SEQ, "tensor=16 ranks cannot share kv_heads=8 of Llama-2-70B evenly"),
        (
            "Llama-2-7B",
            Sharding(tensor=8, sequence=True),
            1001,
            "tensor=8 ranks cannot share seq=1001 of Llama-2-7B evenly",
        ),
        ("Llama-2-7B", Sharding(pipeline=5), SEQ, "pipeline=5 ranks cannot share layers=32 of Llama-2-7B evenly"),
        ("Llama-2-7B", Sharding(data=2, expert=2), SEQ, "expert=2 ranks cannot share experts=0 of Llama-2-7B evenly"),
        ("Mixtral-8x7B", Sharding(tensor=2, sequence=True), SEQ, "experts under sequence parallelism are not written"),
    ],
)
def test_what_the_ranks_cannot_share_is_refused_before_anything_is_built(name, sharding, seq, said):
    with pytest.raises(ShardingError) as refused:
        part(name, sharding, seq)
    assert said in str(refused.value)


def test_buckets_close_when_they_are_full():
    assert bucket_sizes([MIB // 2, MIB, 20 * MIB, 4 * MIB, 2 * MIB, 9]) == [3 * MIB // 2, 26 * MIB, 9]
    assert bucket_sizes([30 * MIB, 30 * MIB]) == [30 * MIB, 30 * MIB]
    buckets = make_buckets(torch.nn.Linear(1024, 1024, device="meta"))
    assert [b.numel() for b in buckets] == [1024 + 1024 * 1024], "the bias alone does not fill the first megabyte"
