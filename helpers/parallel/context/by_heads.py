"""All tokens of some heads instead of all heads of some tokens: two changes by all_to_all around plain attention. Chapter: context.

DeepSpeed-Ulysses (arXiv 2309.14509): heads do not look at each other, so for attention alone they are shared out. Each rank sends of its
tokens the other ranks' heads, and gets of its heads the other ranks' tokens; the results go back the same way. Attention is torch's own and
every rank computes equally much, whatever the mask. There can be no more ranks than heads of keys and values.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from helpers.parallel.attention.ring import Group
from helpers.parallel.expert.exchange import exchanged


def attended(q: Tensor, k: Tensor, v: Tensor, group: Group) -> Tensor:
    """Causal attention of this rank's queries, tokens in the plain order: four all_to_alls, and four in backward."""
    q, k, v = (to_heads(x, group) for x in (q, k, v))
    return to_tokens(F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True), group)


def to_heads(x: Tensor, group: Group) -> Tensor:
    """[batch, heads, seq / P, d] -> [batch, heads / P, seq, d]."""
    parts = exchanged(x.transpose(0, 1), group).unflatten(0, (group.size(), -1))  # by the rank that had the tokens
    return parts.permute(2, 1, 0, 3, 4).flatten(2, 3)


def to_tokens(x: Tensor, group: Group) -> Tensor:
    """[batch, heads / P, seq, d] -> [batch, heads, seq / P, d]."""
    parts = x.unflatten(2, (group.size(), -1)).permute(2, 1, 0, 3, 4)  # by the rank that wants the tokens
    return exchanged(parts.flatten(0, 1), group).transpose(0, 1)
