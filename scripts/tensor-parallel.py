"""A transformer block with its matrices cut among ranks, forward and backward, held against one process that has all of them.

    torchrun --nproc-per-node 4 scripts/tensor-parallel.py

Each rank has some heads and some of the MLP. Whatever enters a pair of matrices is summed in backward, whatever leaves it in forward.
"""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F

WIDTH, HEADS = 64, 8
SHAPES = {"q": (64, 64), "k": (64, 64), "v": (64, 64), "o": (64, 64), "up": (256, 64), "down": (64, 256)}
CUT = {"q": 0, "k": 0, "v": 0, "o": 1, "up": 0, "down": 1}  # 0: by its outputs, 1: by its inputs
sums = []  # bytes of every all_reduce


def total(x, wanted):
    x = x.clone()  # autograd may still want the terms
    if wanted:
        dist.all_reduce(x)
        sums.append(x.numel() * x.element_size())
    return x


class Sum(torch.autograd.Function):
    """Megatron-LM's f sums in backward, its g in forward: the gradient of a copy is a sum, that of a sum a copy."""

    @staticmethod
    def forward(ctx, x, forward):
        ctx.backward = not forward
        return total(x, forward)

    @staticmethod
    def backward(ctx, grad):
        return total(grad, ctx.backward), None


def gradients(x, w, enter, leave):
    """Of one block with as many heads as w has rows for: its output, and the gradients of x and of each matrix."""
    x, w = x.clone().requires_grad_(), {name: one.clone().requires_grad_() for name, one in w.items()}
    y = enter(F.rms_norm(x, (WIDTH,)))
    q, k, v = (F.linear(y, w[n]).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for n in "qkv")
    said = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
    z = x + leave(F.linear(said, w["o"]))
    out = z + leave(F.linear(F.gelu(F.linear(enter(F.rms_norm(z, (WIDTH,))), w["up"])), w["down"]))
    out.square().sum().backward()
    return [out.detach(), x.grad, *(one.grad for one in w.values())]


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


if __name__ == "__main__":
    device, rank, size = set_up(), dist.get_rank(), dist.get_world_size()
    assert HEADS % size == 0, f"{size} ranks do not divide {HEADS} heads: take 1, 2, 4 or 8 ranks"
    made = torch.Generator().manual_seed(0)
    x = torch.randn(2, 16, WIDTH, generator=made, dtype=torch.float64).to(device)
    whole = {n: torch.randn(s, generator=made, dtype=torch.float64).to(device) / s[1] ** 0.5 for n, s in SHAPES.items()}
    mine = {n: w.chunk(size, CUT[n])[rank] for n, w in whole.items()}
    got = gradients(x, mine, lambda x: Sum.apply(x, False), lambda x: Sum.apply(x, True))
    want = gradients(x, whole, lambda x: x, lambda x: x)
    want[2:] = [grad.chunk(size, CUT[n])[rank] for n, grad in zip(SHAPES, want[2:], strict=True)]
    far = max((a - b).abs().max().item() for a, b in zip(got, want, strict=True))
    assert far < 1e-9, f"rank {rank} is off by {far}"
    print(f"rank {rank} of {size}: {len(sums)} all_reduces of {sums[0]} B, off by {far:.0e}\n", end="")
    dist.destroy_process_group()
