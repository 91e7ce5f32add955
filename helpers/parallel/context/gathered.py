"""All keys and values on every rank, by one all_gather a layer; queries stay. The form of Llama 3. Chapter: context.

Simpler than a ring: attention is torch's own, and any mask can be had. The price: every rank keeps the layer's keys of all tokens until
backward, and nothing is computed before they are there. Few heads of keys make both small (Llama 3, arXiv 2407.21783, section 3.3.2).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.context import chunks, positions
from helpers.parallel.attention.ring import Group, mask, slices
from helpers.parallel.tensor.conjugates import gathered

TOKENS = -2  # the dimension of tokens in [..., tokens, d]


def attended(q: Tensor, k: Tensor, v: Tensor, order: str, seq: int, group: Group) -> Tensor:
    """Causal attention of this rank's queries over all keys: one all_gather here, one reduce_scatter in backward."""
    nranks = group.size()
    keys, values = _in_order(gathered(torch.stack((k, v)), group, TOKENS), order, seq, nranks)
    found = []
    for queries, mine in slices(chunks(order, seq, nranks, group.rank())).items():
        before = range(queries[-1] + 1)
        here = q[..., mine, :], keys[..., : before.stop, :], values[..., : before.stop, :]
        found.append(F.scaled_dot_product_attention(*here, attn_mask=mask(queries, before), enable_gqa=True))
    return torch.cat(found, TOKENS)


def _in_order(x: Tensor, order: str, seq: int, nranks: int) -> Tensor:
    """Tokens that lie rank behind rank, by their positions."""
    there = [at for rank in range(nranks) for at in positions(order, seq, nranks, rank)]
    return x.index_select(TOKENS, torch.argsort(torch.tensor(there)))
