"""Attention over some of the keys, two such parts made one, and the way back: what a ring computes at each step. Chapter: context.

A softmax over keys that come in parts needs one number a query of each part: lse, the logarithm of its sum of exponentials. With it
the parts' outputs are weighed, out = sum of out_i exp(lse_i - lse), where lse is that of all keys (Milakov and Gimelshein,
arXiv 1805.02867; FlashAttention-2, arXiv 2307.08691). No part has to see another one's scores, so their order does not matter.
q: [batch, heads, n, d]; k and v: [batch, kv_heads, m, d], each read by heads / kv_heads of the queries' heads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class Part(NamedTuple):
    """out: [batch, heads, n, d], weighed by a softmax over this part's keys alone; lse: [batch, heads, n], -inf where it has none."""

    out: Tensor
    lse: Tensor


def attend(q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None = None) -> Part:
    """seen: [n, m], which scores count; None for all."""
    scores = _scores(q, k, seen)
    lse = scores.logsumexp(-1)
    out = _weights(scores, lse) @ v.unsqueeze(2)
    return Part(out.flatten(1, 2), lse.flatten(1, 2))


def merged(one: Part, other: Part) -> Part:
    """Two parts of the same queries with other keys. At least one of them has a key for every query."""
    lse = torch.logaddexp(one.lse, other.lse)
    first, second = ((part.lse - lse).exp().unsqueeze(-1) for part in (one, other))
    return Part(one.out * first + other.out * second, lse)


def gradients(q: Tensor, k: Tensor, v: Tensor, lse: Tensor, grad: Tensor, mean: Tensor, seen: Tensor | None = None):
    """(of q, of k, of v) from this part's scores. lse: over all keys; grad: of the whole output; mean: `weighed(out, grad)`.

    The weights come back from the scores and lse, so nothing of the size n x m is kept from forward to backward.
    """
    groups = k.shape[1]
    weights = _weights(_scores(q, k, seen), _grouped(lse, groups))
    grad_out, keys, values = _grouped(grad, groups), k.unsqueeze(2), v.unsqueeze(2)
    of_scores = weights * (grad_out @ values.mT - _grouped(mean, groups).unsqueeze(-1)) * q.shape[-1] ** -0.5
    of_q = (of_scores @ keys).flatten(1, 2)
    of_k = (of_scores.mT @ _grouped(q, groups)).sum(2)
    return of_q, of_k, (weights.mT @ grad_out).sum(2)


def weighed(out: Tensor, grad: Tensor) -> Tensor:
    """[batch, heads, n]: what the softmax's backward takes off each row, the gradient of its weights averaged over them."""
    return (out * grad).sum(-1)


class Kernel(NamedTuple):
    """What computes with some of the keys, as `attend` and `gradients` do."""

    attend: Callable[..., Part]
    gradients: Callable[..., tuple[Tensor, Tensor, Tensor]]


MATH = Kernel(attend, gradients)  # scores written out


def _grouped(x: Tensor, groups: int) -> Tensor:
    """[batch, heads, ...] -> [batch, kv_heads, heads that share one, ...]."""
    return x.unflatten(1, (groups, -1))


def _scores(q: Tensor, k: Tensor, seen: Tensor | None) -> Tensor:
    scores = _grouped(q, k.shape[1]) @ k.unsqueeze(2).mT * q.shape[-1] ** -0.5
    return scores if seen is None else scores.masked_fill(~seen, float("-inf"))


def _weights(scores: Tensor, lse: Tensor) -> Tensor:
    """A row without a key has weights 0, where -inf less -inf is no number."""
    return (scores - lse.clamp(min=torch.finfo(lse.dtype).min).unsqueeze(-1)).exp()
