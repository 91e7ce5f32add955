"""Decoder-only transformers, written by hand from the shapes in helpers.facts: GPT, Llama, Mistral, Mixtral. No weights are loaded.

`build("Llama-2-7B")` stands on the meta device, where a parameter has a shape and no bytes; device="cpu" makes a real one.
Pre-norm blocks; grouped heads, rotary positions, SwiGLU, experts and tied embeddings where the shapes say so.
Chapters: training-memory, too-big.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.facts import MODELS, Model

from . import chunked
from .checkpointing import recompute
from .chunked import cross_entropy
from .experts import Experts, Linear, SwiGLU

ATTENTIONS = ("flash", "math")
BASE = 10000.0  # of the rotary angles; it changes no shape


class Embedding(nn.Embedding):
    """nn.Embedding that draws no random numbers on the meta device."""

    def reset_parameters(self) -> None:
        if not self.weight.is_meta:
            super().reset_parameters()


class Attention(nn.Module):
    """x [batch, tokens, hidden] -> the same. Heads are counted here, not in the Model: tensor parallelism makes them fewer."""

    def __init__(self, shape: Model, kind: str, dropout: float, **where):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = shape.heads, shape.kv_heads, shape.head_dim
        self.kind, self.dropout = kind, dropout
        wide, narrow = shape.heads * shape.head_dim, shape.kv_hidden
        self.q = Linear(shape.hidden, wide, bias=shape.bias, **where)
        self.k = Linear(shape.hidden, narrow, bias=shape.bias, **where)
        self.v = Linear(shape.hidden, narrow, bias=shape.bias, **where)
        self.o = Linear(wide, shape.hidden, bias=shape.bias, **where)

    def forward(self, x: Tensor, turns: tuple[Tensor, Tensor] | None) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        q, k, v = (t.unflatten(-1, (-1, self.head_dim)) for t in (q, k, v))
        if turns is not None:
            q, k = rotate(q, *turns), rotate(k, *turns)
        # Token by token in memory, also after the transpose: so attention's output needs no copy on its way out.
        return self.o(self.core(*(t.transpose(1, 2) for t in (q, k, v))).transpose(1, 2).flatten(2))

    def core(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q, k, v [batch, heads, tokens, head_dim] -> like q: what selective checkpointing computes twice."""
        p = self.dropout if self.training else 0.0
        if self.kind == "flash":
            grouped = self.heads != self.kv_heads
            return F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True, enable_gqa=grouped)
        if self.heads != self.kv_heads:
            k, v = (t.repeat_interleave(self.heads // self.kv_heads, dim=1) for t in (k, v))
        hidden = torch.full((q.shape[2], k.shape[2]), float("-inf"), dtype=q.dtype, device=q.device).triu(1)
        scores = torch.matmul(q * self.head_dim**-0.5, k.transpose(-2, -1)) + hidden
        return torch.matmul(F.dropout(F.softmax(scores, dim=-1), p, self.training), v)


class MLP(nn.Module):
    """Two matrices with GELU between them."""

    def __init__(self, shape: Model, **where):
        super().__init__()
        self.up = Linear(shape.hidden, shape.ffn, bias=shape.bias, **where)
        self.down = Linear(shape.ffn, shape.hidden, bias=shape.bias, **where)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.gelu(self.up(x), approximate="tanh"))


class Block(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x)); dropout before each addition where there is any."""

    def __init__(self, shape: Model, kind: str, dropout: float, **where):
        super().__init__()
        self.dropout = dropout
        self.attention_norm = norm(shape, **where)
        self.attention = Attention(shape, kind, dropout, **where)
        self.mlp_norm = norm(shape, **where)
        self.mlp = Experts(shape, **where) if shape.experts else _mlp(shape, **where)

    def forward(self, x: Tensor, turns: tuple[Tensor, Tensor] | None) -> Tensor:
        x = x + self._dropped(self.attention(self.attention_norm(x), turns))
        return x + self._dropped(self.mlp(self.mlp_norm(x)))

    def _dropped(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout, self.training) if self.dropout else x


class Transformer(nn.Module):
    """Tokens [batch, tokens] -> logits [batch, tokens, vocab]; with targets (tokens, too) -> the loss.

    chunks: how many pieces the loss is computed in, one at a time. chunking: how, one of chunked.CHUNKINGS; again: a second time.
    apart: the loss is asked for afterwards, so forward gives what goes into the head (torchtitan's _skip_lm_head).
    """

    def __init__(self, shape: Model, attention: str = "flash", dropout: float = 0.0, **where):
        super().__init__()
        self.head_dim, self.dropout = shape.head_dim, dropout
        self.chunks, self.chunking, self.again, self.apart = 1, "recompute", recompute(), False
        self.embedding = Embedding(shape.vocab, shape.hidden, **where)
        learned = shape.positions == "learned"
        self.positions = Embedding(shape.context, shape.hidden, **where) if learned else None
        self.layers = nn.ModuleList(Block(shape, attention, dropout, **where) for _ in range(shape.layers))
        self.norm = norm(shape, **where)
        self.head = Linear(shape.hidden, shape.vocab, bias=False, **where)
        if shape.tied:
            self.head.weight = self.embedding.weight

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> Tensor:
        x = self.embedded(tokens)
        turns = None if self.positions is not None else angles(tokens.shape[1], self.head_dim, x)
        for layer in self.layers:
            x = layer(x, turns)
        x = self.norm(x)
        if self.apart:
            return x
        return self.head(x) if targets is None else self.loss(x, targets)

    def embedded(self, tokens: Tensor) -> Tensor:
        """The residual stream before the first block, [batch, tokens, hidden]."""
        x = self.embedding(tokens)
        if self.positions is not None:
            x = x + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        return F.dropout(x, self.dropout, self.training) if self.dropout else x

    def loss(self, x: Tensor, targets: Tensor) -> Tensor:
        """Cross entropy on fp32 logits, the mean over all tokens."""
        if self.chunking == "liger":
            return chunked.liger(self.head, x, targets)
        if self.chunks == 1:
            return cross_entropy(self.head(x), targets)
        if self.chunking == "torchtitan":
            return chunked.at_once(self.head, x, targets, self.chunks)
        return chunked.recomputed(self.head, x, targets, self.chunks, self.again)


def angles(tokens: int, head_dim: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and sine of the rotary angles, [tokens, 1, head_dim / 2]; one table for all layers."""
    where = {"device": like.device, "dtype": torch.float32}
    speeds = torch.exp(torch.arange(0, head_dim, 2, **where) * (-math.log(BASE) / head_dim))
    turns = torch.outer(torch.arange(tokens, **where), speeds)[:, None]
    return turns.cos().to(like.dtype), turns.sin().to(like.dtype)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions: x [batch, tokens, heads, head_dim], its halves turned. It keeps only the table for backward."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def norm(shape: Model, **where) -> nn.Module:
    """Layer norm or RMS norm, as the shape says."""
    return nn.LayerNorm(shape.hidden, **where) if shape.norm == "layer" else nn.RMSNorm(shape.hidden, eps=1e-5, **where)


def _mlp(shape: Model, **where) -> nn.Module:
    return SwiGLU(shape.hidden, shape.ffn, **where) if shape.mlp == "swiglu" else MLP(shape, **where)


def known(model: Model | str) -> Model:
    """A Model of helpers.facts by its name. ValueError naming those there are, and for what is not written: latent attention."""
    if isinstance(model, str) and model not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}, got {model!r}")
    shape = MODELS[model] if isinstance(model, str) else model
    if shape.latent:
        raise ValueError(f"{shape.name}: a model with latent attention is not written here, only its cache is known")
    return shape


def build(
    model: Model | str,
    *,
    attention: str = "flash",
    dropout: float = 0.0,
    device: str = "meta",
    dtype: torch.dtype = torch.float32,
) -> Transformer:
    """The transformer of that shape, without values on "meta". attention "flash": torch's own function; "math": scores written out.

    ValueError for an unknown name or attention. A window (Mistral) changes what attention computes and nothing that it keeps.
    """
    shape = known(model)
    if attention not in ATTENTIONS:
        raise ValueError(f"attention is one of {', '.join(ATTENTIONS)}, got {attention!r}")
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout is at least 0 and below 1, got {dropout!r}")
    return Transformer(shape, attention, dropout, device=device, dtype=dtype)
