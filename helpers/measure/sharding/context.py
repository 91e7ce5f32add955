"""Attention of a rank that has some of the tokens, on paper: keys in a ring, keys gathered, or heads instead of tokens. Chapter: too-big.

The ring is `helpers.parallel.attention.ring` itself; the others are written from `helpers.parallel.context`, buffer by buffer, and all
are held against it on real ranks (tests) with scores written out, attention "math". "flash", whose kernels keep one number a row, has
met no GPU.

Dropout is written for heads alone, where attention is one rank's own. In a ring each block's random numbers have to be drawn again in
backward, from a state that is kept: Transformer Engine keeps one for every step, ring-flash-attention has no dropout.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from helpers.context import chunks, positions
from helpers.memory.sharding import Sharding
from helpers.parallel.attention import blocks, ring
from helpers.parallel.attention.blocks import Kernel
from helpers.step.models import Attention

from .moves import Exchange, Together

TOKENS = -2  # the dimension of tokens in [batch, heads, tokens, d]
aten = torch.ops.aten
Core = Callable[[Tensor, Tensor, Tensor], Tensor]


def core(attention: Attention, sharding: Sharding) -> Core:
    """What attention.core becomes on one of the context ranks: q, k, v [batch, heads, its tokens, d] -> like q."""
    if sharding.form == "heads":
        return partial(by_heads, attention.core, sharding)
    way = in_a_ring if sharding.form == "ring" else gathered
    return partial(way, attention.kind, sharding)


def in_a_ring(kind: str, sharding: Sharding, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Blocks of keys and values come by; one is computed with while the next one arrives."""
    group = ring.Paper(sharding.context, sharding.place)
    seq = q.shape[TOKENS] * sharding.context
    return ring.attended(q, k, v, sharding.order, seq, group, kernel=FLASH if kind == "flash" else blocks.MATH)


def gathered(kind: str, sharding: Sharding, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """All keys and values, by one all_gather; they stay until backward."""
    nranks, order = sharding.context, sharding.order
    seq = q.shape[TOKENS] * nranks
    there = [at for rank in range(nranks) for at in positions(order, seq, nranks, rank)]
    whole = Together.apply(torch.stack((k, v)), TOKENS, nranks)
    keys, values = whole.index_select(TOKENS, torch.argsort(torch.tensor(there, device=q.device)))
    del whole
    found = []
    for queries, mine in ring.slices(chunks(order, seq, nranks, sharding.place)).items():
        stop = queries[-1] + 1
        here = q[..., mine, :], keys[..., :stop, :], values[..., :stop, :]
        if kind == "flash":  # its causal mask is aligned with the last key, as chunks want it
            found.append(aten._scaled_dot_product_flash_attention(*here, 0.0, True)[0])
        else:
            seen = ring.mask(queries, range(stop), q.device)
            with sdpa_kernel(SDPBackend.MATH):  # scores written out, whatever a CPU would choose
                found.append(F.scaled_dot_product_attention(*here, attn_mask=seen, enable_gqa=True))
    return torch.cat(found, TOKENS)


def by_heads(plain: Core, sharding: Sharding, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """All tokens of some heads, by an all_to_all each, and back."""
    q, k, v = (to_heads(x, sharding.context) for x in (q, k, v))
    return to_tokens(plain(q, k, v), sharding.context)


def to_heads(x: Tensor, nranks: int) -> Tensor:
    """[batch, heads, its tokens, d] -> [batch, its heads, tokens, d]."""
    parts = Exchange.apply(x.transpose(0, 1).contiguous()).unflatten(0, (nranks, -1))
    return parts.permute(2, 1, 0, 3, 4).flatten(2, 3)


def to_tokens(x: Tensor, nranks: int) -> Tensor:
    """The way back."""
    parts = x.unflatten(2, (nranks, -1)).permute(2, 1, 0, 3, 4)
    return Exchange.apply(parts.flatten(0, 1).contiguous()).transpose(0, 1)


def _attend(q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None = None) -> blocks.Part:
    out, lse, *_ = aten._scaled_dot_product_flash_attention(q, k, v, 0.0, seen is not None)
    return blocks.Part(out, lse)


def _gradients(q: Tensor, k: Tensor, v: Tensor, lse: Tensor, *_: object) -> tuple[Tensor, Tensor, Tensor]:
    """Shapes only; one fp32 number a row inside the kernel."""
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


FLASH = Kernel(_attend, _gradients)
