"""Embedding, head and loss of a vocabulary that is cut among ranks: nobody holds all logits of a token. Chapter: tensor-parallel.

A rank has the rows of its part of the vocabulary, in the embedding and in the head. It finds some tokens in its part and leaves
zeros for the others, so one all_reduce makes the embeddings whole. Its logits stay where they are: the loss of a token needs three
numbers of all ranks, the largest logit, the sum of exponentials and the logit of the target. So three all_reduces of one number a
token take the place of an all_gather of the vocabulary's width (Megatron-LM, arXiv 1909.08053, section 3).
"""

from __future__ import annotations

import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from helpers.parallel.model import IGNORED

from .conjugates import Group, copied, summed


def own(numbers: Tensor, nrows: int, group: Group) -> tuple[Tensor, Tensor]:
    """(where each token would stand among this rank's rows, whether it stands there). Others get a place that exists."""
    place = numbers - group.rank() * nrows
    return place.clamp(0, nrows - 1), (place >= 0) & (place < nrows)


def embedded(tokens: Tensor, rows: Tensor, group: Group) -> Tensor:
    """tokens [batch, seq], rows [vocab / P, width] -> [batch, seq, width], the same on every rank. One all_reduce forward."""
    place, mine = own(tokens, len(rows), group)
    return summed(F.embedding(place, rows) * mine.unsqueeze(-1), group)


def logits(x: Tensor, rows: Tensor, group: Group) -> Tensor:
    """x [batch, seq, width], the same on every rank -> this rank's [batch, seq, vocab / P]. One all_reduce backward."""
    return F.linear(copied(x, group), rows)


def loss_sum(logits: Tensor, targets: Tensor, group: Group) -> Tensor:
    """The sum of cross entropies, IGNORED targets left out. logits: this rank's [batch, seq, vocab / P]; targets: [batch, seq]."""
    largest = logits.detach().amax(-1)
    dist.all_reduce(largest, dist.ReduceOp.MAX, group=group)
    total = summed((logits - largest.unsqueeze(-1)).exp().sum(-1), group)
    place, mine = own(targets, logits.shape[-1], group)
    target = summed(logits.gather(-1, place.unsqueeze(-1)).squeeze(-1) * mine, group)
    return ((total.log() + largest - target) * (targets != IGNORED)).sum()


def logits_nbytes(tokens: int, vocab: int, itemsize: int, nranks: int = 1) -> int:
    """Bytes of the logits of one rank, the largest part where nranks does not divide the vocabulary."""
    return tokens * -(-vocab // nranks) * itemsize


def gradients(
    tokens: Tensor, targets: Tensor, table: Tensor, head: Tensor, group: Group
) -> tuple[Tensor, Tensor, Tensor]:
    """The loss, and the gradients of this rank's rows: of a model that is only an embedding and a head. For tests and labs."""
    rows = [whole.chunk(group.size())[group.rank()].clone().requires_grad_() for whole in (table, head)]
    loss = loss_sum(logits(embedded(tokens, rows[0], group), rows[1], group), targets, group)
    loss.backward()
    return loss.detach(), *(one.grad for one in rows)


def gradients_whole(tokens: Tensor, targets: Tensor, table: Tensor, head: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same in one process, by torch's own functions."""
    both = [one.clone().requires_grad_() for one in (table, head)]
    out = F.linear(F.embedding(tokens, both[0]), both[1])
    loss = F.cross_entropy(out.flatten(0, -2), targets.flatten(), ignore_index=IGNORED, reduction="sum")
    loss.backward()
    return loss.detach(), *(one.grad for one in both)


__all__ = ["embedded", "gradients", "gradients_whole", "logits", "logits_nbytes", "loss_sum"]
