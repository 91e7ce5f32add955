"""Decoding with tensor ranks: prompt and tokens through slices of a Transformer, with a cache of keys and values. Chapter: context.

A rank keeps the keys and values of its own heads. Each new token goes through all layers alone, and each layer's two pairs end in a sum
of batch x width numbers: two all_reduces a layer and token, as `helpers.ledger.decoding` prices them.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.parallel.model import Params, Transformer

from .conjugates import Group, all_reduce
from .divided import Divided


class Decoder:
    """Inside a rank of `group`: this rank's slices of `params`, and its cache. ValueError as `cuts.check`."""

    def __init__(self, model: Transformer, params: Params, group: Group):
        cut = Divided(model, group, "pairs")
        self.model, self.group, self.params = model, group, cut.slices(params)
        self.cache: dict[int, tuple[Tensor, Tensor]] = {}  # by layer: [batch, kv_heads here, tokens so far, d]
        self.length = 0

    @torch.no_grad()
    def step(self, tokens: Tensor) -> Tensor:
        """tokens [batch, n], the next n of each request -> what the model says after the last of them, [batch, vocab]."""
        n, model = tokens.shape[1], self.model
        if self.length + n > model.seq:
            raise ValueError(f"the model has {model.seq} positions, {self.length} tokens are there and {n} come")
        x = F.embedding(tokens, self.params["0.tokens"]) + self.params["0.positions"][self.length :][:n]
        for i in range(1, model.depth - 1):
            own = {name.partition(".")[2]: self.params[name] for name in model.names(i)}
            x = x + all_reduce(F.linear(self._attended(i, own, model.normed(x, own["norm1"])), own["o"]), self.group)
            x = x + all_reduce(model.mlp(own, model.normed(x, own["norm2"])), self.group)
        self.length += n
        return model.layer(model.depth - 1, self.params, x)[:, -1]

    def _attended(self, i: int, own: Params, x: Tensor) -> Tensor:
        """This rank's heads, over all tokens so far."""
        q, *new = (
            F.linear(x, own[n]).unflatten(-1, (-1, self.model.head_width)).transpose(1, 2) for n in ("q", "k", "v")
        )
        before = self.cache.get(i)
        k, v = new if before is None else (torch.cat(both, 2) for both in zip(before, new, strict=True))
        self.cache[i] = k, v
        at = torch.arange(self.length, self.length + q.shape[2])
        seen = at[:, None] >= torch.arange(k.shape[2])
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=True)
        return out.transpose(1, 2).flatten(2)

    @property
    def cached(self) -> int:
        """Bytes of this rank's cache."""
        return sum(one.nbytes for both in self.cache.values() for one in both)


def greedy(decoder: Decoder, prompt: Tensor, ntokens: int) -> Tensor:
    """[batch, ntokens]: each the most likely one after all before it. The prompt goes through in one step."""
    found, token = [], decoder.step(prompt).argmax(-1, keepdim=True)
    for i in range(ntokens):
        found.append(token)
        if i < ntokens - 1:
            token = decoder.step(token).argmax(-1, keepdim=True)
    return torch.cat(found, 1)


@torch.no_grad()
def greedy_alone(model: Transformer, params: Params, prompt: Tensor, ntokens: int) -> Tensor:
    """The same in one process without a cache: all tokens through the whole model, each time."""
    tokens = prompt
    for _ in range(ntokens):
        tokens = torch.cat([tokens, model.forward(params, tokens)[:, -1].argmax(-1, keepdim=True)], 1)
    return tokens[:, prompt.shape[1] :]
