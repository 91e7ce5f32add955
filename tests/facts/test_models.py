"""Models: their parameters are counted, not typed, and the counts are the published ones."""

import re
from dataclasses import replace

import pytest

from helpers.facts import MODELS, SOURCES, FactError, Model
from helpers.facts.fact import read
from helpers.facts.model import build_models

# Elements of the published weight files. DeepSeek-V3's file also holds a number per expert that sorts tokens and is not trained by
# gradients: 58 layers of 256.
PUBLISHED = {
    "GPT-2": 124_439_808,
    "GPT-2-XL": 1_557_611_200,
    "Llama-2-7B": 6_738_415_616,
    "Llama-2-13B": 13_015_864_320,
    "Llama-2-70B": 68_976_648_192,
    "Llama-3-8B": 8_030_261_248,
    "Llama-3-70B": 70_553_706_496,
    "Mistral-7B": 7_241_732_096,
    "Mixtral-8x7B": 46_702_792_704,
    "DeepSeek-V3": 671_026_419_200 - 58 * 256,
}


@pytest.mark.parametrize("name", MODELS)
def test_the_count_is_the_published_one(name):
    assert MODELS[name].nparams == PUBLISHED[name]


def test_active_parameters_are_the_published_rounded_ones():
    assert round(MODELS["Mixtral-8x7B"].active_nparams / 1e9, 1) == 12.9
    assert MODELS["DeepSeek-V3"].active_nparams / 1e9 == pytest.approx(37, rel=0.02)
    dense = [model for model in MODELS.values() if not model.experts]
    assert dense and all(model.active_nparams == model.nparams for model in dense)


def test_a_layer_counts_once_for_each_layer():
    for model in MODELS.values():
        longer = replace(model, layers=model.layers + 1)
        assert longer.nparams - model.nparams == model.layer_nparams()


def test_grouped_heads_are_narrower():
    assert MODELS["Llama-2-70B"].kv_hidden * 8 == MODELS["Llama-2-70B"].hidden
    assert MODELS["Llama-2-7B"].kv_hidden == MODELS["Llama-2-7B"].hidden


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"layers": 0}, "layers is a positive whole number, got 0"),
        ({"hidden": 768.0}, "768.0"),
        ({"norm": "batch"}, "batch"),
        ({"kv_heads": 5}, "12 heads do not share 5 KV heads"),
        ({"active": 2}, "1 to 0 experts"),
        ({"source": "hearsay"}, "hearsay"),
        ({"where": ""}, "where"),
        ({"depth": 3}, "depth"),
    ],
)
def test_a_model_that_cannot_be_is_refused(wrong, words):
    entry = read("models")["GPT-2"]
    assert build_models({"X": entry}, SOURCES)["X"].nparams == PUBLISHED["GPT-2"]
    with pytest.raises(FactError, match=words) as refused:
        build_models({"X": entry | wrong}, SOURCES)
    assert "X" in str(refused.value)


def test_a_model_of_one_s_own_needs_seven_sizes():
    mine = Model("mine", layers=2, hidden=64, heads=4, ffn=128, vocab=100, context=32)
    assert (mine.kv_heads, mine.head_dim, mine.norm, mine.mlp, mine.tied) == (4, 16, "rms", "swiglu", False)
    assert mine.nparams == 2 * 100 * 64 + 2 * (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64) + 64
    grouped = replace(mine, kv_heads=2)
    assert mine.nparams - grouped.nparams == 2 * 2 * 64 * 32


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"heads": 3}, "hidden=64 is no multiple of heads=3: say head_dim"),
        ({"heads": 0}, "heads is a positive whole number, got 0"),
        ({"hidden": "64"}, "hidden is a positive whole number, got '64'"),
        ({"kv_heads": 3}, "4 heads do not share 3 KV heads evenly"),
        ({"norm": "batch"}, "norm is one of layer, rms, got 'batch'"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(sizes, said):
    with pytest.raises(FactError, match=re.escape(said)):
        Model("mine", **{"layers": 2, "hidden": 64, "heads": 4, "ffn": 128, "vocab": 100, "context": 32, **sizes})


def test_a_published_model_says_all_of_its_shape():
    entry = {
        "layers": 2,
        "hidden": 64,
        "heads": 4,
        "ffn": 128,
        "vocab": 100,
        "context": 32,
        "source": "a",
        "where": "b",
    }
    with pytest.raises(FactError, match="missing: kv_heads, head_dim, norm, mlp, positions, tied, bias"):
        build_models({"mine": entry}, {"a": None})
