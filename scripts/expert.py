"""Tokens travel to experts on other ranks and back, in parts of unequal sizes, forward and backward; equal to all experts in one process.

    torchrun --nproc-per-node 4 scripts/expert.py

Rank 0 prints how many rows each rank computed, and how far its results are from the single process.
"""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed._functional_collectives import all_to_all_single_autograd, wait_tensor

TOKENS, WIDTH, FFN, K, HERE = 256, 32, 64, 2, 2  # of each rank: tokens, and experts HERE


def set_up(**options):
    """Joins the group, with more options if there are any; the device of this rank: a GPU of its own, or the CPU for all."""
    local = int(os.environ["LOCAL_RANK"])
    on_gpus = torch.cuda.is_available() and torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    device = torch.device("cuda", local) if on_gpus else torch.device("cpu")
    if on_gpus:
        torch.cuda.set_device(device)  # before the group: NCCL takes one GPU per rank
        options["device_id"] = device  # a wrong address shows now, not at the first collective
    dist.init_process_group("nccl" if on_gpus else "gloo", **options)
    return device


def sent(rows, sending, receiving):
    """Rows to other ranks; in backward their gradients come home by the same sizes, swapped."""
    return wait_tensor(all_to_all_single_autograd(rows.contiguous(), receiving, sending, dist.group.WORLD))


def layer(x, router, up, down, there=1):
    """The experts' weighted answers, and how many rows were computed here. there: ranks that share out the experts."""
    weight, chosen = F.softmax(x @ router.T, -1).topk(K, -1)
    expert = chosen.flatten()
    order = expert.argsort(stable=True)
    coming = counts = expert.bincount(minlength=len(up) * there).view(there, -1)
    rows = x.repeat_interleave(K, 0)[order]
    if there > 1:
        coming = torch.empty_like(counts)
        dist.all_to_all_single(coming, counts)  # first how many, so that there is room for them
        sending, receiving = counts.sum(1).tolist(), coming.sum(1).tolist()  # the host waits for the numbers
        rows = sent(rows, sending, receiving)
    which = torch.arange(len(up), device=x.device).repeat(there).repeat_interleave(coming.flatten())
    out = torch.cat([F.gelu(rows[which == e] @ up[e]) @ down[e] for e in range(len(up))])
    out = out[which.argsort(stable=True).argsort()]
    out = sent(out, receiving, sending) if there > 1 else out
    return (out[order.argsort()].view(len(x), K, -1) * weight[..., None]).sum(1), len(rows)


def main():
    device = set_up()
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)  # the same numbers on every rank
    shapes = (size * TOKENS, WIDTH), (size * HERE, WIDTH), (size * HERE, WIDTH, FFN), (size * HERE, FFN, WIDTH)
    x, router, up, down = (torch.randn(shape, dtype=torch.float64).to(device) / 4 for shape in shapes)
    mine, own = (slice(rank * n, (rank + 1) * n) for n in (TOKENS, HERE))
    whole = [p.clone().requires_grad_() for p in (router, up, down)]
    parts = [p.clone().requires_grad_() for p in (router, up[own], down[own])]
    want, _ = layer(x, *whole)
    want.square().sum().backward()
    got, computed = layer(x[mine], *parts, there=size)
    got.square().sum().backward()
    dist.all_reduce(parts[0].grad)  # the router is on every rank; an expert has seen all of its tokens already
    wanted = want[mine], whole[0].grad, whole[1].grad[own], whole[2].grad[own]
    far = [(a - b).abs().max().item() for a, b in zip((got, *(p.grad for p in parts)), wanted, strict=True)]
    found = [None] * size
    dist.all_gather_object(found, (computed, max(far)))
    if rank == 0:
        print(f"rows computed by each rank: {[rows for rows, _ in found]}, the mean is {TOKENS * K}")
        print(f"outputs and gradients differ from one process by {max(far for _, far in found):.1e} at most")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
