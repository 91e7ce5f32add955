"""A model's decoding step reads every weight once and every cache whole; its FLOPs are two per weight and token."""

import pytest

from helpers.facts import MODELS
from helpers.memory.roofline import RooflineError, decoding, prefill

LLAMA = MODELS["Llama-2-7B"]
DENSE = [MODELS[name] for name in ("Llama-2-7B", "Llama-2-70B", "Llama-3-8B", "Mistral-7B")]


def weights(work):
    return sum(n for p in work.passes for t, n in p.reads.items() if t.endswith("weight"))


def cache(work):
    return sum(n for p in work.passes for t, n in p.reads.items() if t.endswith("cache"))


@pytest.mark.parametrize("model", DENSE, ids=lambda m: m.name)
def test_every_matrix_is_read_once_whatever_the_batch(model):
    norms = (2 * model.layers + 1) * model.norm_nparams
    table = model.vocab * model.hidden  # of the embedding only the rows of the new tokens are read
    for batch in (1, 64):
        assert weights(decoding(model, batch, 100)) == 2 * (model.nparams - norms - table)
    assert weights(decoding(model, 8, 100, weight_nbytes=0.5)) == (model.nparams - norms - table) / 2


def test_the_cache_is_read_whole_by_every_request():
    per_token = 2 * LLAMA.layers * LLAMA.kv_hidden * 2
    assert cache(decoding(LLAMA, 16, 4096)) == 16 * 4096 * per_token
    assert cache(decoding(MODELS["Mistral-7B"], 1, 100_000)) == cache(decoding(MODELS["Mistral-7B"], 1, 4096))
    grouped = MODELS["Llama-3-8B"]
    assert cache(decoding(grouped, 1, 1000)) == 2 * grouped.layers * 1000 * 8 * 128 * 2


def test_two_flops_for_each_weight_and_token():
    work = decoding(LLAMA, 3, 1)
    attention = 3 * LLAMA.layers * LLAMA.heads * (4 * 128 + 6)
    assert work.flops - attention == pytest.approx(3 * weights(work))
    prompt = prefill(LLAMA, 2, 512)
    one_head = 2 * LLAMA.vocab * LLAMA.hidden
    attended = next(p.flops for p in prompt.passes if p.name == "one kernel")
    assert prompt.flops - attended - 2 * one_head == 1024 * (weights(work) - one_head)


def test_experts_are_read_when_somebody_picks_them():
    model = MODELS["Mixtral-8x7B"]
    experts = [
        sum(
            n
            for p in decoding(model, batch, 1).passes
            for t, n in p.reads.items()
            if t.startswith("MLP") and "weight" in t
        )
        for batch in (1, 2, 1000)
    ]
    one = 2 * model.layers * model.mlp_nparams()
    assert experts == pytest.approx([2 * one, 8 * (1 - 0.75**2) * one, 8 * one])


def test_a_batch_shares_the_weights_and_not_the_caches():
    lone, many = decoding(LLAMA, 1, 4096), decoding(LLAMA, 256, 4096)
    assert lone.intensity < many.intensity < lone.flops / cache(lone) < 8
    assert decoding(LLAMA, 256, 1).intensity > 100 * decoding(LLAMA, 1, 1).intensity


def test_what_is_not_counted_is_refused():
    with pytest.raises(RooflineError, match="latent"):
        decoding(MODELS["DeepSeek-V3"], 1, 10)
    with pytest.raises(RooflineError, match="batch is a whole number of 1 or more, got 0"):
        decoding(LLAMA, 0, 10)
    with pytest.raises(RooflineError, match="looks back 4096"):
        prefill(MODELS["Mistral-7B"], 1, 8192)
