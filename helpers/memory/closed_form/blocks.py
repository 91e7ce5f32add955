"""The operators of one block, forward in order, and what each of them keeps for backward.

A tensor that two operators keep stands once, where it is made or first kept. Residual additions keep nothing.
Chapters: training-memory, too-big.
"""

from __future__ import annotations

from functools import partial

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
    first = (*norm(model, "norm 1"), *_attention(model, attention, dropout), *mask)
    return (*first, *norm(model, "norm 2"), *_mlp(model), *mask)


def norm(model: Model, name: str) -> tuple[Kept, ...]:
    """A normalisation keeps its input, the residual stream, and two numbers a token (one without the mean)."""
    what = STATISTICS[model.norm]
    statistics = [kept(name, what, "b s", "fp32", source="torch-layer-norm")] * (2 if model.norm == "layer" else 1)
    return (kept(name, "its input, the residual stream", "b s h", "stream"), *statistics)


def _attention(model: Model, attention: str, dropout: float) -> tuple[Kept, ...]:
    """Written out ("math"), shared keys and values are repeated for every head; flash reads them where they are."""
    heads = "b s a d" if attention == "math" else "b s k d"
    qkv = (
        kept("q, k, v projections", "their input", "b s h", readers=3),
        kept("attention", "queries", "b s a d", split="tensor"),
        kept("attention", "keys", heads, split="tensor"),
        kept("attention", "values", heads, split="tensor"),
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
    kept("gate and up projections", "their input", "b s h", source="llama-2", readers=2),
    kept("SiLU", "its input, the gate", "b s f", split="tensor", source="llama-2"),
    kept("gate times up", "SiLU of the gate", "b s f", split="tensor", source="llama-2"),
    kept("gate times up", "the up projection", "b s f", split="tensor", source="llama-2"),
    kept("down projection", "its input", "b s f", split="tensor", source="llama-2"),
)
# Every token's row is copied once for each expert that it visits, and so is every answer.
mixture = partial(kept, source="mixtral")
EXPERTS = (
    mixture("router", "its input", "b s h"),
    mixture("router", "the softmax over the experts", "b s E", "fp32"),
    mixture("router", "the chosen experts", "b s x", "index"),
    mixture("router", "their weights", "b s x", "fp32"),
    mixture("router", "the sum of their weights", "b s", "fp32"),
    mixture("dispatch", "the visits, sorted by expert", "b s x", "index"),
    mixture("dispatch", "whose token each visit is", "b s x", "index"),
    mixture("gate and up projections", "their input, a row for each visit", "b s x h", readers=2),
    mixture("SiLU", "its input, the gate", "b s x f", split="tensor"),
    mixture("gate times up", "SiLU of the gate", "b s x f", split="tensor"),
    mixture("gate times up", "the up projection", "b s x f", split="tensor"),
    mixture("down projection", "its input", "b s x f", split="tensor"),
    mixture("combine", "the answers, a row for each visit", "b s x h"),
    mixture("combine", "the weight of each visit", "b s x", "stream"),
    mixture("combine", "the weighted answers, a row for each visit", "b s x h", "stream"),
)
