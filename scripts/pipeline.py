"""A training step through a pipeline in 1F1B's order: each rank has one layer, and its gradients are those of one process.

torchrun --nproc-per-node 4 scripts/pipeline.py 8    # microbatches: what each rank did, and how far its gradients are off
"""

import os
import sys

import torch
import torch.distributed as dist
from torch.nn import GELU, Linear, MSELoss, Sequential

WIDTH, SAMPLES = 64, 4  # numbers between two layers; samples of a microbatch


def exchange(peer, gives=None, takes=True):
    """Sends and receives in one call, so that no neighbour waits for the other to begin. Off the ends there is nobody."""
    room = torch.empty(SAMPLES, WIDTH, dtype=torch.float64)
    calls = [] if gives is None else [dist.P2POp(dist.isend, gives, peer)]
    calls += [dist.P2POp(dist.irecv, room, peer)] if takes else []
    for work in dist.batch_isend_irecv(calls) if calls and 0 <= peer < dist.get_world_size() else []:
        work.wait()
    return room


def one_forward_one_backward(layer, xs, ys):
    rank, last, m = dist.get_rank(), dist.get_world_size() - 1, len(xs)
    before, after, warm, waiting, done = rank - 1, rank + 1, min(last - rank, m), {}, []

    def forward(k, got):
        x = (got if rank else xs[k].clone()).requires_grad_()
        out = layer(x) if rank < last else MSELoss()(layer(x), ys[k]) / m  # only the last rank knows the loss
        waiting[k] = x, out
        done.append(f"F{k}")
        return out.detach()

    def backward(k, got):
        x, out = waiting.pop(k)
        out.backward(got if rank < last else None)
        done.append(f"B{k}")
        return x.grad

    for k in range(warm):  # a forward for each rank behind this one
        exchange(after, forward(k, exchange(before)), takes=False)
    x = exchange(before, takes=warm < m)
    for k in range(m - warm):
        dy = exchange(after, forward(warm + k, x))
        x = exchange(before, backward(k, dy), takes=warm + k + 1 < m)
    for k in range(m - warm, m):
        exchange(before, backward(k, exchange(after)), takes=False)
    return " ".join(done)


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
    m = sys.argv[1] if len(sys.argv) > 1 else "8"
    if not m.isdecimal() or int(m) < 1:
        sys.exit(f"the number of microbatches is a whole number from 1 on, got {m}")
    torch.set_default_device(set_up())
    torch.manual_seed(0)  # the same model and batch everywhere
    rank, x, y = dist.get_rank(), *torch.randn(2, int(m), SAMPLES, WIDTH, dtype=torch.float64)
    whole = Sequential(*(Sequential(Linear(WIDTH, WIDTH), GELU()) for _ in range(dist.get_world_size()))).double()
    dist.barrier()  # NCCL wants every rank in a group's first call
    done, mine = one_forward_one_backward(whole[rank], x, y), list(whole[rank].parameters())
    want = torch.autograd.grad(MSELoss()(whole(x), y), mine)
    off = max((p.grad - g).abs().max().item() for p, g in zip(mine, want, strict=True))
    print(f"rank {rank}: {done}; off by {off:.0e}\n", end="")  # in one write
    dist.destroy_process_group()
