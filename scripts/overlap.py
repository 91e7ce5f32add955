"""How much of the communication shows: buckets leave while backward goes on, and a step is held against one that sends nothing.

torchrun --nproc-per-node 4 scripts/overlap.py 1 4 12: sizes of a bucket in MiB, which is as many layers."""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

LAYERS, WIDTH, SAMPLES, STEPS = 12, 512, 32, 5  # a layer's gradient has 1 MiB
SLEEP = 0.01  # seconds: on the CPU a layer's backward sleeps so long besides, since a GPU would compute without the CPU


class Buckets:
    def __init__(self, params, many):
        backwards, self.flying = params[::-1], []  # backward makes the last layer's gradient first
        for i in range(0, LAYERS, many):
            bucket = backwards[i : i + many]
            bucket[-1].register_post_accumulate_grad_hook(lambda _, bucket=bucket: self.full(bucket))

    def full(self, bucket):
        flat = nn.utils.parameters_to_vector([p.grad for p in bucket]) / dist.get_world_size()
        self.flying.append((bucket, flat, dist.all_reduce(flat, async_op=True)))

    def wait(self):
        while self.flying:
            bucket, flat, work = self.flying.pop(0)
            work.wait()  # without it the optimizer would read sums that are not there yet
            nn.utils.vector_to_parameters(flat, [p.grad for p in bucket])


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


def timed(params, x, wait):
    """Seconds of a step, the median of several."""
    found = []
    for _ in range(STEPS):
        dist.barrier()
        start, y = time.perf_counter(), x
        for p in params:
            p.grad, y = None, y @ p
            y.register_hook(lambda grad: time.sleep(0 if grad.is_cuda else SLEEP))
        y.square().mean().backward()
        wait()
        y.sum().item()  # on a GPU: all of it is done
        found.append(time.perf_counter() - start)
    return sorted(found)[STEPS // 2]


def main():
    device = set_up()
    torch.manual_seed(0)  # all ranks start equal, or they never will be
    params = [nn.Parameter(torch.randn(WIDTH, WIDTH).div(WIDTH**0.5).to(device)) for _ in range(LAYERS)]
    x = torch.randn(SAMPLES, WIDTH, generator=torch.Generator().manual_seed(dist.get_rank())).to(device)
    alone = timed(params, x, lambda: None)
    mean = nn.utils.parameters_to_vector([p.grad for p in params]) / dist.get_world_size()
    dist.all_reduce(mean)
    for many in map(int, sys.argv[1:] or (1, 4, LAYERS)):
        params = [nn.Parameter(p.detach().clone()) for p in params]  # without the hooks of before
        seconds = timed(params, x, Buckets(params, many).wait)
        assert torch.allclose(nn.utils.parameters_to_vector([p.grad for p in params]), mean, atol=1e-7), "not the mean"
        print(f"{dist.get_rank()}, {many} MiB: {1e3 * seconds:.1f} ms, exposed {1e3 * (seconds - alone):.1f}\n", end="")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
