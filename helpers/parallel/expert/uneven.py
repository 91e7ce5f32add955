"""The other way to send tokens to experts: as many as come, in parts of unequal sizes, and nobody is dropped. Chapter: expert.

The receiver has to know how many rows come from each rank before it can make room for them. So a first all_to_all carries counts, the
host waits for them, and a second one carries tokens. MegaBlocks (Gale et al. 2022, arXiv 2211.15841) trains so.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function


class _Sent(Function):
    """Rows to other ranks; their gradients come home by the same sizes, swapped."""

    @staticmethod
    def forward(ctx, rows: Tensor, sending: list[int], receiving: list[int], group: dist.ProcessGroup) -> Tensor:
        ctx.how = sending, receiving, group
        got = rows.new_empty((sum(receiving), *rows.shape[1:]))
        dist.all_to_all_single(got, rows.contiguous(), receiving, sending, group=group)
        return got

    @staticmethod
    def backward(ctx, grad: Tensor):
        sending, receiving, group = ctx.how
        return _Sent.apply(grad, receiving, sending, group), None, None, None


def told(counts: Tensor, group: dist.ProcessGroup) -> Tensor:
    """counts: int64 [ranks, what goes there]. The same table as the others filled it for this rank: 8 bytes a number travel."""
    got = torch.empty_like(counts)
    dist.all_to_all_single(got, counts.contiguous(), group=group)
    return got


def sent(rows: Tensor, sending: list[int], receiving: list[int], group: dist.ProcessGroup) -> Tensor:
    """rows: [sum(sending), ...], in the order of the ranks they go to -> [sum(receiving), ...], in the order they come from."""
    return _Sent.apply(rows, sending, receiving, group)


def answered(x: Tensor, chosen: Tensor, up: Tensor, down: Tensor, group: dist.ProcessGroup) -> Tensor:
    """Every token's answers from all its experts. x: [tokens, width]; chosen: int64 [tokens, k] -> [tokens, k, width].

    up, down: this rank's experts, [experts / ranks, ...], as in `routed.through`; experts lie on ranks in order.
    """
    nranks, here, k = group.size(), len(up), chosen.shape[1]
    order = chosen.flatten().argsort(stable=True)
    counts = chosen.flatten().bincount(minlength=here * nranks).view(nranks, here)
    coming = told(counts, group)
    sending, receiving = (table.sum(1).tolist() for table in (counts, coming))  # sizes are data: the host waits here
    got = sent(x.repeat_interleave(k, 0)[order], sending, receiving, group)
    back = sent(_through(got, coming, up, down), receiving, sending, group)
    return back[order.argsort()].view(*chosen.shape, -1)


def _through(rows: Tensor, coming: Tensor, up: Tensor, down: Tensor) -> Tensor:
    """Each row through its expert. coming: [ranks, experts here], how many rows of each, in the order of rows."""
    here = coming.shape[1]
    expert = torch.arange(here, device=rows.device).repeat(len(coming)).repeat_interleave(coming.flatten())
    order = expert.argsort(stable=True)
    parts = rows[order].split(coming.sum(0).tolist())
    through = [torch.nn.functional.gelu(part @ up[e].T) @ down[e].T for e, part in enumerate(parts)]
    return torch.cat(through)[order.argsort()]
