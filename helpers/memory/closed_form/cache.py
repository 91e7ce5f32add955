"""What inference keeps: the keys and values of every token so far, in each layer.

Chapters: too-big, roofline; the memory calculator.
"""

from __future__ import annotations

from helpers.facts import Latent, Model
from helpers.memory.closed_form.activations import known
from helpers.memory.closed_form.terms import FormError, Operator, Term, Terms, whole


def kv_cache(model: Model | str, batch: int = 1, seq: int | None = None, dtype_bytes: int = 2, tensor: int = 1) -> Term:
    """The cache of `batch` requests of `seq` tokens (the model's context unless told), on one of `tensor` ranks.

    Heads that share keys and values keep them once (GQA); latent attention keeps one short vector a token, whole on every rank;
    a sliding window keeps no more than its width. FormError for counts that are not positive or key/value heads that do not split.
    """
    model = known(model)
    seq = model.context if seq is None else seq
    whole(batch=batch, seq=seq, dtype_bytes=dtype_bytes, tensor=tensor)
    if not model.latent and model.kv_heads % tensor:
        raise FormError(f"tensor={tensor} ranks cannot share kv_heads={model.kv_heads} of {model.name} evenly")
    kept = min(seq, model.window or seq)
    tokens = "w" if kept < seq else "s"
    each = batch * kept * dtype_bytes
    if model.latent:
        return _latent(model, model.latent, tokens, each, dtype_bytes)
    source = "gqa" if model.kv_heads < model.heads else "paged-attention"
    shape = ("b", tokens, "k", "d")
    nbytes = each * model.kv_hidden // tensor
    listed = tuple(
        Operator("attention", name, shape, dtype_bytes, tensor, nbytes, source) for name in ("keys", "values")
    )
    share = f" / {tensor}" if tensor > 1 else ""
    return Term("KV cache", "cache", f"2 L b {tokens} k d {dtype_bytes}{share}", listed, model.layers, source)


def _latent(model: Model, latent: Latent, tokens: str, each: int, width: int) -> Term:
    parts = (
        ("the latent vector of a token", "c", latent.rank),
        ("the rotary key, shared by heads", "e", latent.rope),
    )
    listed = (
        Operator("attention", text, ("b", tokens, side), width, 1, each * size, "deepseek-v2")
        for text, side, size in parts
    )
    return Term("KV cache", "cache", f"L b {tokens} (c + e) {width}", tuple(listed), model.layers, "deepseek-v2")


def per_token(model: Model | str, dtype_bytes: int = 2) -> int:
    """Bytes that one more token costs, in all layers, as long as no window is full."""
    return kv_cache(model, 1, 1, dtype_bytes).nbytes


def inference(
    model: Model | str,
    batch: int = 1,
    seq: int | None = None,
    dtype_bytes: int = 2,
    cache_bytes: int | None = None,
    tensor: int = 1,
) -> Terms:
    """Weights and cache of `batch` requests of `seq` tokens. Weights of a mixture: all experts, for any token may visit any.

    dtype_bytes: of a weight; cache_bytes: of a number in the cache (as a weight unless told). With `tensor` ranks weights are taken
    as split evenly.
    """
    model = known(model)
    whole(dtype_bytes=dtype_bytes, tensor=tensor)
    share = f" / {tensor}" if tensor > 1 else ""
    listed = (
        Operator("all layers", "the weights", ("P",), dtype_bytes, tensor, -(-model.nparams * dtype_bytes // tensor)),
    )
    weights = Term("weights", "parameter", f"{dtype_bytes} P{share}", listed)
    cache = kv_cache(model, batch, seq, cache_bytes or dtype_bytes, tensor)
    tokens = model.context if seq is None else seq
    return Terms(f"{model.name} serves {batch} request{'s' * (batch > 1)} of {tokens:,} tokens", (weights, cache))
