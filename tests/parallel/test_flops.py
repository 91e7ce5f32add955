"""FLOPs of a step, counted by torch's own counter, against the formula; and what the counter does not see."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch
from counting_flops import counted_flops
from torch.utils.flop_counter import FlopCounterMode

from helpers import torch_versions
from helpers.facts import MODELS
from helpers.ledger.flops import EARLY, flops
from helpers.parallel import Training, Transformer
from helpers.parallel.model import shape_of
from helpers.step.checkpointing import recompute
from helpers.step.models import build

SHAPES = {
    "grouped heads": Transformer(),
    "a head each": Transformer(layers=3, kv_heads=4, seq=12),
    "one key head": Transformer(layers=1, width=24, heads=6, kv_heads=1, ffn=40, vocab=50, seq=16),
    "long against wide": Transformer(layers=2, width=8, heads=2, kv_heads=1, ffn=8, vocab=8, seq=48),
    "wide head": Transformer(layers=2, width=16, heads=4, kv_heads=4, ffn=32, vocab=400, seq=8),
}


def paper(training, **said):
    model = training.model
    return flops(shape_of(model), training.batch * model.seq, model.seq, **said)


@pytest.mark.parametrize("name", SHAPES)
def test_the_formula_has_as_many_parameters_as_the_model(name):
    assert shape_of(SHAPES[name]).nparams == SHAPES[name].nparams


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("checkpoint", ["none", "full"])
def test_counted_flops_are_the_formula_s_to_the_last(name, checkpoint):
    """Not to one per cent: exactly. MFU is model FLOPs, HFU those of the hardware, over the same seconds."""
    training = Training(SHAPES[name], batch=4, dtype=torch.float32)
    want = paper(training, checkpoint=checkpoint)
    assert counted_flops(training, "math", checkpoint)[0] == want.hardware
    assert (want.hardware > want.model) == (checkpoint == "full")


@pytest.mark.parametrize("name", SHAPES)
def test_flash_scores_once_more_and_causal_scores_half(name):
    training = Training(SHAPES[name], batch=2, dtype=torch.float32)
    whole, half = paper(training), paper(training, pairs="causal")
    assert counted_flops(training, "flash")[0] == whole.hardware + whole.scores / 2, "Q K^T once more, in backward"
    got, loss = counted_flops(training, "causal")
    assert got == half.hardware < whole.hardware
    assert loss == pytest.approx(counted_flops(training, "math")[1], abs=1e-5), "the same model"


@pytest.mark.parametrize(
    ("name", "early", "checkpoint"),
    [("Llama-2-7B", True, EARLY), ("GPT-2", True, EARLY), ("Llama-2-7B", False, "full")],
)
def test_torch_s_checkpoint_leaves_out_the_last_product_of_a_block_unless_told_not_to(name, early, checkpoint):
    """Its own run on meta tensors, counted by its own counter: exactly."""
    shape = replace(MODELS[name], layers=3, vocab=512)
    model = build(shape, attention="math")
    for block in model.layers:
        block.forward = partial(recompute(early_stop=early), block.forward)
    tokens = torch.zeros(2, 64, dtype=torch.int64, device="meta")
    with FlopCounterMode(display=False) as counter:
        model(tokens, tokens).backward()
    want = flops(shape, 128, 64, checkpoint)
    assert counter.get_total_flops() == want.hardware and (want.last > 0) and want.hardware > want.model
    whole = flops(shape, 128, 64, "full").hardware
    assert whole - want.hardware == (early and 2 * 128 * 3 * shape.ffn * shape.hidden)


def test_torch_s_counter_alone_sees_no_scores_on_a_cpu_before_2_15():
    """From then on it counts the CPU's kernel as a GPU's: two products there, five back."""
    training = Training(Transformer(), batch=2, dtype=torch.float32)
    params, (x, y) = training.params(), training.data(0)
    with (
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION),
        FlopCounterMode(display=False) as counter,
    ):
        training.model.loss(training.model.forward(params, x), y).backward()
    want = paper(training)
    seen = 3.5 if torch_versions.has("flops-of-attention-on-cpus", torch.__version__) else 0
    assert counter.get_total_flops() == want.model - (3 - seen) * want.scores
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        training.model.loss(training.model.forward(params, x), y).backward()
    assert counter.get_total_flops() == want.model == counted_flops(training)[0], "as products it sees them all"
