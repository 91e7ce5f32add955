"""FLOPs of a step, counted by torch's own counter, against the formula; and what the counter does not see."""

from __future__ import annotations

import pytest
import torch
from counting_flops import counted_flops
from torch.utils.flop_counter import FlopCounterMode

from helpers.ledger.flops import flops
from helpers.parallel import Training, Transformer
from helpers.parallel.model import shape_of

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


def test_torch_s_counter_alone_sees_no_scores_on_a_cpu():
    training = Training(Transformer(), batch=2, dtype=torch.float32)
    params, (x, y) = training.params(), training.data(0)
    with (
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION),
        FlopCounterMode(display=False) as counter,
    ):
        training.model.loss(training.model.forward(params, x), y).backward()
    want = paper(training)
    assert counter.get_total_flops() == want.model - 3 * want.scores
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        training.model.loss(training.model.forward(params, x), y).backward()
    assert counter.get_total_flops() == want.model == counted_flops(training)[0], "as products it sees them all"
