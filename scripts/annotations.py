"""Who writes the collectives? Two MLPs with residuals whose matrices lie cut, as DTensors, and what DTensor puts in by what it is told.

    torchrun --nproc-per-node 4 scripts/annotations.py

On GPUs with NCCL, else on CPUs with Gloo. Each line: what is said, and the collectives of one forward and backward.
"""

import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode

WIDTH, BATCH, PAIRS = 16, 64, 2
SAYS = {"matrices alone": "", "outputs of pairs, too": "out", "both ends of pairs": "in out"}


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


def drawn(device):
    """x, y, and the matrices of each pair: the same on every rank."""
    seeded = torch.Generator().manual_seed(0)
    shapes = [(BATCH, WIDTH)] * 2 + [(2 * WIDTH, WIDTH), (WIDTH, 2 * WIDTH)] * PAIRS
    return [torch.randn(s, generator=seeded, dtype=torch.float64).to(device) / 4 for s in shapes]


def loss_of(x, y, matrices, says):
    for up, down in zip(matrices[::2], matrices[1::2], strict=True):
        entered = says(F.rms_norm(x, (WIDTH,)), "in")
        x = x + says(F.linear(F.gelu(F.linear(entered, up)), down), "out")
    return (F.rms_norm(x, (WIDTH,)) - y).square().mean()


def counted(mesh, device, words):
    """One forward and backward with the matrices cut: the loss, and how often which collective ran."""
    x, y, *matrices = drawn(device)
    cuts = [Replicate(), Replicate()] + [Shard(0), Shard(1)] * PAIRS  # up by its outputs, down by its inputs
    x, y, *matrices = [distribute_tensor(t, mesh, [cut]) for t, cut in zip([x, y, *matrices], cuts, strict=True)]
    for w in matrices:
        w.requires_grad_()

    def says(t, where):
        return t.redistribute(placements=[Replicate()]) if where in words else t

    with CommDebugMode() as seen:
        loss = loss_of(x, y, matrices, says)
        loss.backward()
    return loss.full_tensor().item(), {str(op).split(".")[-1]: n for op, n in seen.get_comm_counts().items() if n}


if __name__ == "__main__":
    device = set_up()
    mesh, alone = init_device_mesh(device.type, (dist.get_world_size(),)), drawn(device)
    want, far = loss_of(*alone[:2], alone[2:], lambda t, _: t).item(), 0.0
    for name, words in SAYS.items():
        loss, calls = counted(mesh, device, words.split())
        far = max(far, abs(loss - want))
        if dist.get_rank() == 0:
            print(f"{name:>21}: {', '.join(f'{n} {op}' for op, n in calls.items())}; {abs(loss - want):.0e} off")
    dist.destroy_process_group()
    sys.exit(far > 1e-10)
