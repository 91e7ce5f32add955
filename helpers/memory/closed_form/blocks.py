"""The operators of one block, forward in order, and what each of them keeps for backward.

A tensor that two operators keep stands once, where it is made or first kept. Residual additions keep nothing.
Chapters: training-memory, too-big.
"""

from __future__ import annotations

from helpers.facts import Model
from helpers.memory.closed_form.kept import Kept, kept
from helpers.memory.closed_form.terms import FormError, one_of

ATTENTIONS = ("flash", "math")

STATISTICS = {
    "layer": "the mean and 1/deviation of every token",
    "rms": "1/rms of every token",
}
CORE = (
    kept("softmax", "its result", "b a s s", split="tensor", core=True),
    kept("attention dropout", "its mask", "b a s s", "mask", "tensor", core=True),
    kept("attention dropout", "its result, which multiplies the values", "b a s s", split="tensor", core=True),
)


def block(model: Model, attention: str = "flash", dropout: float = 0.0) -> tuple[Kept, ...]:
    """What one pre-norm block of `model` keeps. FormError for latent attention, whose list is not written."""
    one_of(ATTENTIONS, attention=attention)
    if not 0 <= dropout < 1:
        raise FormError(f"dropout must be at least 0 and below 1, got {dropout!r}")
    if model.latent:
        raise FormError(f"{model.name}: what latent attention keeps in training is not listed here, only its cache is")
    mask = (kept("dropout", "its mask", "b s h", "mask"),) if dropout else ()
    first = (*norm(model, "norm 1"), *_attention(attention, dropout), *mask)
    return (*first, *norm(model, "norm 2"), *_mlp(model), *mask)


def norm(model: Model, name: str) -> tuple[Kept, ...]:
    """A normalisation keeps its input, the residual stream, and two numbers a token (one without the mean)."""
    what = STATISTICS[model.norm]
    statistics = [kept(name, what, "b s", "fp32", source="torch-layer-norm")] * (2 if model.norm == "layer" else 1)
    return (kept(name, "its input, the residual stream", "b s h", "stream"), *statistics)


def _attention(attention: str, dropout: float) -> tuple[Kept, ...]:
    qkv = (
        kept("q, k, v projections", "their input", "b s h"),
        kept("attention", "queries", "b s a d", split="tensor"),
        kept("attention", "keys", "b s k d", split="tensor"),
        kept("attention", "values", "b s k d", split="tensor"),
    )
    out = kept("output projection", "its input, what attention gives", "b s a d", split="tensor")
    if attention == "flash":
        rows = kept("attention", "log of the sum of exponentials, a row", "b s a", "fp32", "tensor", source="flash")
        return (*qkv, out, rows)
    return (*qkv, *(CORE if dropout else CORE[:1]), out)


def _mlp(model: Model) -> tuple[Kept, ...]:
    if model.experts:
        return EXPERTS
    return SWIGLU if model.mlp == "swiglu" else GELU


GELU = (
    kept("up projection", "its input", "b s h"),
    kept("GELU", "its input", "b s f", split="tensor"),
    kept("down projection", "its input", "b s f", split="tensor"),
)
SWIGLU = (
    kept("gate and up projections", "their input", "b s h", source="llama-2"),
    kept("SiLU", "its input, the gate", "b s f", split="tensor", source="llama-2"),
    kept("gate times up", "SiLU of the gate", "b s f", split="tensor", source="llama-2"),
    kept("gate times up", "the up projection", "b s f", split="tensor", source="llama-2"),
    kept("down projection", "its input", "b s f", split="tensor", source="llama-2"),
)
# Every token's row is copied once for each expert that it visits.
EXPERTS = (
    kept("router", "its input", "b s h", source="mixtral"),
    kept("router", "the softmax over the experts", "b s E", "fp32", source="mixtral"),
    kept("gate and up projections", "their input, a row for each visit", "b s x h", source="mixtral"),
    kept("SiLU", "its input, the gate", "b s x f", split="tensor", source="mixtral"),
    kept("gate times up", "SiLU of the gate", "b s x f", split="tensor", source="mixtral"),
    kept("gate times up", "the up projection", "b s x f", split="tensor", source="mixtral"),
    kept("down projection", "its input", "b s x f", split="tensor", source="mixtral"),
)
