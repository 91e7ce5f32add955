"""Tensor slices and shards on one mesh: FSDP2 over DTensor, held against one process, rank by rank.

    torchrun --nproc-per-node 4 scripts/meshes.py        # 2 shards x 2 tensor ranks; `4`, `8` ...: so many tensor ranks

On GPUs with NCCL, else on CPUs with Gloo. The tensor axis is the inner one: its ranks are neighbours.
"""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

WIDTH, FFN, BATCH, STEPS = 64, 256, 16, 3


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


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, FFN), nn.Linear(FFN, WIDTH)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x)))


def model(device):
    torch.manual_seed(0)  # the same on every rank
    return nn.Sequential(Block(), Block()).double().to(device)


def batches(device):
    drawn = torch.Generator().manual_seed(1)
    return [torch.randn(2, BATCH, WIDTH, generator=drawn, dtype=torch.float64).to(device) for _ in range(STEPS)]


def train(net, device, part=0, parts=1):
    """Plain SGD, by hand: an optimizer works as well. part: this rank's place on the data axis, not its rank."""
    for x, y in batches(device):
        mine = slice(part * BATCH // parts, (part + 1) * BATCH // parts)
        (net(x[mine]) - y[mine]).square().mean().backward()
        for p in net.parameters():
            p.data -= 0.1 * p.grad
            p.grad = None
    return net


if __name__ == "__main__":
    device, asked = set_up(), sys.argv[1] if len(sys.argv) > 1 else "2"
    nranks, ntensor = dist.get_world_size(), int(asked) if asked.isdecimal() else 0
    if not ntensor or nranks % ntensor or FFN % ntensor or BATCH % (nranks // ntensor):
        sys.exit(f"{asked} tensor ranks must divide {nranks} ranks and {FFN} columns, the others {BATCH} samples")
    mesh = init_device_mesh(device.type, (nranks // ntensor, ntensor), mesh_dim_names=("shard", "tensor"))
    net = model(device)
    for block in net:  # first slices, then shards of slices
        parallelize_module(block, mesh["tensor"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
        fully_shard(block, mesh=mesh["shard"])
    train(fully_shard(net, mesh=mesh["shard"]), device, mesh["shard"].get_local_rank(), mesh["shard"].size())
    alone, (x, _) = train(model(device), device), batches(device)[0]
    far = (net(x) - alone(x)).abs().max().item()
    held, every = sum(p.to_local().numel() for p in net.parameters()), sum(p.numel() for p in net.parameters())
    place = f"shard {mesh.get_local_rank('shard')}, tensor {mesh.get_local_rank('tensor')}"
    print(f"rank {dist.get_rank()} ({place}): {held:,} of {every:,} numbers, {far:.0e} off\n", end="")
    dist.destroy_process_group()
    sys.exit(far > 1e-10)
