"""The operations of a transformer, with their FLOPs and bytes counted.

A multiply-add counts as two FLOPs; exp, tanh, a comparison and a division as one each. Chapters: roofline, memory-hierarchy.
"""

from __future__ import annotations

import math

from helpers.memory.roofline.work import Pass, RooflineError, Work


def _sizes(**sizes: float) -> None:
    for name, value in sizes.items():
        if not (isinstance(value, (int, float)) and math.isfinite(value) and value > 0):
            raise RooflineError(f"{name} must be a positive number, got {value!r}")


def gemm(
    m: int, n: int, k: int, nbytes: float = 2, weight_nbytes: float | None = None, tile: int | None = None
) -> Work:
    """[m, k] @ [k, n] -> [m, n]. nbytes: of an element; weight_nbytes: of one of the [k, n] matrix (a quantised weight).

    Without `tile` every matrix crosses memory once. With it, the result is made in squares of tile x tile, and each square reads
    its own rows and columns again: A is read n/tile times, B m/tile times.
    """
    weight_nbytes = nbytes if weight_nbytes is None else weight_nbytes
    _sizes(m=m, n=n, k=k, nbytes=nbytes, weight_nbytes=weight_nbytes, tile=1 if tile is None else tile)
    again_a, again_b = (1, 1) if tile is None else (math.ceil(n / tile), math.ceil(m / tile))
    reads = {"A": m * k * nbytes * again_a, "B": k * n * weight_nbytes * again_b}
    name = f"GEMM {m}x{n}x{k}" + (f", tiles of {tile}" if tile else "")
    return Work(name, (Pass("matmul", 2 * m * n * k, reads, {"C": m * n * nbytes}, "2 m n k"),))


def gemv(batch: int, n: int, k: int, nbytes: float = 2, weight_nbytes: float | None = None) -> Work:
    """A linear layer in decoding: `batch` tokens, one of each request, against one weight matrix [k, n]."""
    (work,) = gemm(batch, n, k, nbytes, weight_nbytes).passes
    return Work(f"GEMV {n}x{k}, batch {batch}", (work,))


def elementwise(numel: int, nbytes: float = 2, inputs: int = 1, flops: float = 1, name: str = "elementwise") -> Work:
    """An operation on every element: `inputs` tensors in, one out; flops: per element. A residual add has 2 inputs, 1 FLOP."""
    _sizes(numel=numel, nbytes=nbytes, inputs=inputs, flops=flops)
    reads = {f"x{i}": numel * nbytes for i in range(inputs)}
    return Work(name, (Pass(name, flops * numel, reads, {"y": numel * nbytes}, f"{flops:g} an element"),))


def softmax(rows: int, columns: int, nbytes: float = 2) -> Work:
    """Over each row, as one kernel that keeps a row near: read once, written once. Five FLOPs an element."""
    _sizes(rows=rows, columns=columns, nbytes=nbytes)
    numel = rows * columns
    counted = "an element: compare, subtract, exp, add, divide"
    one = Pass("softmax", 5 * numel, {"x": numel * nbytes}, {"y": numel * nbytes}, counted)
    return Work(f"softmax {rows}x{columns}", (one,))


def layer_norm(rows: int, columns: int, nbytes: float = 2) -> Work:
    """Over each row, with scale and shift, as one kernel. Eight FLOPs an element."""
    _sizes(rows=rows, columns=columns, nbytes=nbytes)
    numel = rows * columns
    reads = {"x": numel * nbytes, "weight": columns * nbytes, "bias": columns * nbytes}
    counted = "an element: add for the mean; subtract, square, add for the variance; subtract, multiply; scale, shift"
    return Work(f"layer norm {rows}x{columns}", (Pass("layer norm", 8 * numel, reads, {"y": numel * nbytes}, counted),))


def attention(
    batch: int, heads: int, seq: int, dim: int, nbytes: float = 2, fused: bool = False, tile: int | None = None
) -> Work:
    """Softmax(Q K^T / sqrt(dim)) V for all heads, not masked. Q, K, V and the result: [batch, heads, seq, dim].

    Naive: three kernels, and the seq x seq scores cross memory four times. fused: one kernel, no scores in memory; with `tile`
    rows of Q at a time, K and V are read seq/tile times, without it once (the least).
    """
    _sizes(batch=batch, heads=heads, seq=seq, dim=dim, nbytes=nbytes, tile=1 if tile is None else tile)
    if tile and not fused:
        raise RooflineError(f"only fused attention has a tile, got tile={tile} with fused=False")
    each, scores = batch * heads * seq * dim * nbytes, batch * heads * seq * seq * nbytes
    products = 2 * batch * heads * seq * seq * dim
    soft = 6 * batch * heads * seq * seq
    naive = Work(
        f"attention, {seq} tokens, naive",
        (
            Pass("Q K^T", products, {"Q": each, "K": each}, {"S": scores}, "2 s s d a head"),
            Pass("softmax", soft, {"S": scores}, {"P": scores}, "6 a score: scale and softmax"),
            Pass("P V", products, {"P": scores, "V": each}, {"O": each}, "2 s s d a head"),
        ),
    )
    if not fused:
        return naive
    (one,) = naive.fused().passes
    again = math.ceil(seq / tile) if tile else 1
    reads = {"Q": each, "K": each * again, "V": each * again}
    return Work(f"attention, {seq} tokens, fused", (Pass("one kernel", one.flops, reads, {"O": each}, one.counted),))


def decode_attention(batch: int, heads: int, kv_heads: int, context: int, dim: int, nbytes: float = 2) -> Work:
    """One new token of every request against its own cache of `context` tokens: batching shares nothing here."""
    _sizes(batch=batch, heads=heads, kv_heads=kv_heads, context=context, dim=dim, nbytes=nbytes)
    if heads % kv_heads:
        raise RooflineError(f"heads must be a multiple of kv_heads, got {heads} and {kv_heads}")
    cache, one = batch * kv_heads * context * dim * nbytes, batch * heads * dim * nbytes
    flops = batch * heads * context * (4 * dim + 6)
    reads = {"q": one, "K cache": cache, "V cache": cache}
    counted = "4 d + 6 for each head and cached token"
    return Work(
        f"decode attention, batch {batch}, {context} cached", (Pass("attention", flops, reads, {"o": one}, counted),)
    )
