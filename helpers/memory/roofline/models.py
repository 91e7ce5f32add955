"""A whole language model as work: one step of decoding, and reading a prompt. Chapter: roofline.

Only what crosses memory once per kernel is counted: weights, the cache, and what goes into and out of each matrix product.
Norms, rotations and additions are left out: a few bytes per hidden number and token, against as many per weight.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.facts import Model
from helpers.memory.roofline.operations import attention, decode_attention
from helpers.memory.roofline.work import Pass, RooflineError, Work


def decoding(model: Model, batch: int, context: int, nbytes: float = 2, weight_nbytes: float | None = None) -> Work:
    """One new token for each of `batch` requests, each with `context` tokens in its cache.

    nbytes: of an element of the cache and of activations; weight_nbytes: of a weight (0.5 for four bits), nbytes unless told.
    Experts: a token picks its experts evenly and independently of the others, so a batch reads those that somebody picked.
    RooflineError for a batch or context below 1, and for latent attention, whose cache is read in another way.
    """
    _whole(batch=batch, context=context)
    cached = min(context, model.window or context)
    seen = decode_attention(batch, model.heads, model.kv_heads, cached, model.head_dim, nbytes)
    return _model(f"{model.name}, decoding, batch {batch}", model, batch, seen, nbytes, weight_nbytes, batch)


def prefill(model: Model, batch: int, seq: int, nbytes: float = 2, weight_nbytes: float | None = None) -> Work:
    """Reading `batch` prompts of `seq` tokens: fused attention, not masked; logits for the last token of each only."""
    _whole(batch=batch, seq=seq)
    if model.window and seq > model.window:
        raise RooflineError(f"{model.name} looks back {model.window} tokens; a prompt of {seq} is not counted here")
    seen = attention(batch, model.heads, seq, model.head_dim, nbytes, fused=True)
    return _model(
        f"{model.name}, prompt of {seq}, batch {batch}", model, batch * seq, seen, nbytes, weight_nbytes, batch
    )


def _whole(**counts: int) -> None:
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise RooflineError(f"{name} is a whole number of 1 or more, got {value!r}")


def _model(
    name: str, model: Model, tokens: int, seen: Work, nbytes: float, weight_nbytes: float | None, logits: int
) -> Work:
    if model.latent:
        raise RooflineError(
            f"{model.name} has latent attention; its cache is read compressed, which is not counted here"
        )
    weight_nbytes = nbytes if weight_nbytes is None else weight_nbytes
    passes = [
        _product(part, tokens, n, k, nbytes, weight_nbytes, read) for part, n, k, read in _matrices(model, tokens)
    ]
    (one,) = seen.passes
    layers = [_times(p, model.layers) for p in (*passes, one)]
    head = _product("head", logits, model.vocab, model.hidden, nbytes, weight_nbytes, 1.0)
    return Work(name, (*layers, head))


def _matrices(model: Model, tokens: int) -> Iterator[tuple[str, int, int, float]]:
    """(name, outputs, inputs, how many of it are read) of every matrix product of a layer, for one token."""
    wide, ups = model.heads * model.head_dim, 2 if model.mlp == "swiglu" else 1
    yield "q, k, v", wide + 2 * model.kv_hidden, model.hidden, 1.0
    yield "attention's output", model.hidden, wide, 1.0
    visits, read = model.active or 1, _experts_read(model, tokens)
    if model.experts:
        yield "router", model.experts, model.hidden, 1.0
    yield "MLP up", ups * model.ffn * visits, model.hidden, read / visits
    yield "MLP down", model.hidden * visits, model.ffn, read / visits


def _experts_read(model: Model, tokens: int) -> float:
    """How many of a layer's experts at least one of the tokens visits, on average; 1 without experts."""
    if not model.experts:
        return 1.0
    return model.experts * (1 - (1 - model.active / model.experts) ** tokens)


def _product(name: str, m: int, n: int, k: int, nbytes: float, weight_nbytes: float, read: float) -> Pass:
    reads = {f"{name}: weight": read * n * k * weight_nbytes, f"{name}: in": m * k * nbytes}
    return Pass(name, 2 * m * n * k, reads, {f"{name}: out": m * n * nbytes}, "2 m n k")


def _times(p: Pass, layers: int) -> Pass:
    reads, writes = ({t: layers * n for t, n in tensors.items()} for tensors in (p.reads, p.writes))
    return Pass(p.name, layers * p.flops, reads, writes, f"{p.counted}, {layers} layers")
