"""Data parallel by hand: gradients leave in buckets while backward goes on. At the end the parameters are held against DDP's.

    torchrun --nproc-per-node 4 scripts/data-parallel.py
Every rank prints after how many of the gradients each bucket left."""

import copy
import os

import torch
import torch.distributed as dist
from torch import nn

LAYERS, WIDTH, SAMPLES, STEPS = 12, 512, 32, 4  # samples of each rank; a layer's gradient has 1 MiB
FIRST, REST = 1 << 20, 4 << 20  # bytes at which a bucket is full; DDP's own are 1 MiB and 25 MiB


class Overlap:
    def __init__(self, params):
        self.buckets, self.came, self.left = [[]], [], []
        for p in reversed(params):  # backward makes the last layer's gradient first
            if sum(q.nbytes for q in self.buckets[-1]) >= (REST if len(self.buckets) > 1 else FIRST):
                self.buckets.append([])
            self.buckets[-1].append(p)
        for number, bucket in enumerate(self.buckets):
            for p in bucket:
                p.register_post_accumulate_grad_hook(lambda _, number=number: self.arrived(number))

    def arrived(self, number):
        self.came.append(number)
        if self.came.count(number) == len(self.buckets[number]):
            flat = nn.utils.parameters_to_vector([p.grad for p in self.buckets[number]])
            flat /= dist.get_world_size()  # before the sum, as DDP does: in fp16 the sum could overflow
            self.left.append((number, flat, dist.all_reduce(flat, async_op=True), len(self.came)))

    def wait(self):
        assert len(self.left) == len(self.buckets), "a gradient has not come, and its bucket never left"
        for number, flat, work, _ in self.left:
            work.wait()
            nn.utils.vector_to_parameters(flat, [p.grad for p in self.buckets[number]])
        self.after, self.came, self.left = [after for *_, after in self.left], [], []


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


def main():
    device = set_up()
    torch.manual_seed(0)  # all ranks start equal, or they never will be
    layers = [part for _ in range(LAYERS) for part in (nn.Linear(WIDTH, WIDTH, bias=False), nn.GELU())]
    ours = nn.Sequential(*layers).to(device)
    for p in ours.parameters():
        nn.init.normal_(p, std=1.5 / WIDTH**0.5)  # so that gradients do not vanish on their way through the layers
    theirs = nn.parallel.DistributedDataParallel(copy.deepcopy(ours))
    overlap = Overlap(list(ours.parameters()))
    for model, wait in ((ours, overlap.wait), (theirs, lambda: None)):
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
        torch.manual_seed(1 + dist.get_rank())  # its own samples, and the same again for DDP
        for _ in range(STEPS):
            x, y = torch.randn(2, SAMPLES, WIDTH).to(device)
            (model(x) - y).square().sum(1).mean().backward()
            wait()
            optimizer.step()
            optimizer.zero_grad()
    far = max((p - q).abs().max().item() for p, q in zip(ours.parameters(), theirs.parameters(), strict=True))
    print(f"rank {dist.get_rank()}: buckets left after {overlap.after} gradients; {far:.1e} from DDP\n", end="")
    assert far < 1e-5, f"the parameters differ from DDP's by {far}"
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
