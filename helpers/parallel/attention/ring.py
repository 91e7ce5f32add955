"""Ring attention: blocks of keys and values go round, and every rank looks at each with its own queries. Chapter: context.

What data must move, when, and why: a query wants the keys of all tokens before it, and these lie on other ranks. Queries stay, for
there are as many as results. Of keys and values, a block of 2 K/P numbers in all, P-1 blocks reach every rank, each from its neighbour; the
next one is under way while this one is computed with. In backward the same blocks come once more, and behind each travels its gradient,
to which every rank adds its term, until after P-1 hops it is home (Liu et al., arXiv 2310.01889). A rank's own term need not travel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function

from helpers.context import chunk_pairs, chunks, source

from .blocks import MATH, Kernel, Part, merged, weighed


@dataclass(frozen=True)
class Paper:
    """One rank of `nranks` whose others are not there: nothing is sent, every buffer is still made. For the meta device."""

    nranks: int
    place: int = 0

    def size(self) -> int:
        """As a process group's."""
        return self.nranks

    def rank(self) -> int:
        """As a process group's."""
        return self.place


Group = Any  # a dist.ProcessGroup, or Paper


class Done(NamedTuple):
    """One product of a forward: at which step of the ring, how many scores it made, and how many of them count."""

    step: int
    made: int
    seen: int


class Coming:
    """A tensor on its way: this rank's to the next one, and the previous one's to here."""

    def __init__(self, x: Tensor, group: Group):
        self.sent, self.room = x.contiguous(), torch.empty_like(x, memory_format=torch.contiguous_format)
        self.works: list[dist.Work] = []
        if isinstance(group, Paper):
            return
        rank, nranks = group.rank(), group.size()
        there, back = (rank + 1) % nranks, (rank - 1) % nranks
        give = dist.P2POp(dist.isend, self.sent, group=group, group_peer=there)
        take = dist.P2POp(dist.irecv, self.room, group=group, group_peer=back)
        self.works = dist.batch_isend_irecv([give, take])

    def arrived(self) -> Tensor:
        """The previous rank's."""
        for work in self.works:
            work.wait()
        return self.room


def passed(block: Tensor, group: Group) -> Iterator[Tensor]:
    """Every rank's block, step by step: this rank's own first. The next one travels while the caller computes."""
    for step in range(group.size()):
        coming = Coming(block, group) if step < group.size() - 1 else None
        yield block
        block = coming.arrived() if coming else block


def looks(
    order: str, seq: int, group: Group, step: int, device: torch.device | None = None
) -> Iterator[tuple[slice, slice, Tensor | None]]:
    """What to compute at a step: (which of the own queries, which of the keys that are here, which scores count; None for all)."""
    rank, nranks = group.rank(), group.size()
    mine = slices(chunks(order, seq, nranks, rank))
    theirs = slices(chunks(order, seq, nranks, source(rank, step, nranks)))
    for queries, keys in chunk_pairs(order, seq, nranks, rank, step):
        yield mine[queries], theirs[keys], mask(queries, keys, device)


def slices(those: tuple[range, ...]) -> dict[range, slice]:
    """Where on their rank each chunk lies: one behind the other."""
    return {one: slice(i * len(one), (i + 1) * len(one)) for i, one in enumerate(those)}


def mask(queries: range, keys: range, device: torch.device | None = None) -> Tensor | None:
    """[queries, keys]: is the key no later than the query? None where all are."""
    if keys[-1] <= queries[0]:
        return None
    q, k = (torch.arange(one.start, one.stop, one.step, device=device) for one in (queries, keys))
    return q[:, None] >= k


class _Ring(Function):
    @staticmethod
    def forward(
        ctx,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        order: str,
        seq: int,
        group: Group,
        done: list[Done] | None,
        kernel: Kernel,
    ) -> Tensor:
        out, lse = torch.zeros_like(q), q.new_full(q.shape[:-1], float("-inf"))
        for step, (keys, values) in enumerate(passed(torch.stack((k, v)), group)):
            for mine, theirs, seen in looks(order, seq, group, step, q.device):
                part = kernel.attend(q[..., mine, :], keys[..., theirs, :], values[..., theirs, :], seen)
                before = Part(out[..., mine, :], lse[..., mine])
                out[..., mine, :], lse[..., mine] = merged(before, part)
                if done is not None:
                    made = part.lse.shape[-1] * keys[..., theirs, :].shape[-2]
                    done.append(Done(step, made, made if seen is None else int(seen.sum())))
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.how = order, seq, group, kernel
        return out

    @staticmethod
    def backward(ctx, grad: Tensor):
        q, k, v, out, lse = ctx.saved_tensors
        order, seq, group, kernel = ctx.how
        of_q, mean, coming, own = torch.zeros_like(q), weighed(out, grad), None, None
        for step, kv in enumerate(passed(torch.stack((k, v)), group)):
            of_kv = torch.zeros_like(kv)
            for mine, theirs, seen in looks(order, seq, group, step, q.device):
                here = kv[0][..., theirs, :], kv[1][..., theirs, :]
                rows = lse[..., mine], grad[..., mine, :], mean[..., mine]
                more = kernel.gradients(q[..., mine, :], *here, *rows, seen)
                of_q[..., mine, :] += more[0]
                of_kv[..., theirs, :] += torch.stack(more[1:])
            if step == 0:
                own = of_kv
                continue
            if coming:  # what the ranks before this one found for the same block
                of_kv += coming.arrived()
            coming = Coming(of_kv, group)  # after the last step this brings the own block's home
        of_k, of_v = own + coming.arrived() if coming else own
        return of_q, of_k, of_v, None, None, None, None, None


def attended(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    order: str,
    seq: int,
    group: Group,
    done: list[Done] | None = None,
    kernel: Kernel = MATH,
) -> Tensor:
    """Causal attention of this rank's queries over all ranks' keys: [batch, heads, seq / P, d], tokens as `order` has them.

    done: gets a line for every product of the forward. kernel: what computes with one block of keys.
    """
    return _Ring.apply(q, k, v, order, seq, group, done, kernel)
