"""busbw as nccl-tests counts it, one way per rank, with the data checked, the median and the spread. GB are 10^9 bytes.

torchrun --nproc-per-node 4 scripts/benchmarking.py
"""

import os
import statistics
import time

import torch
import torch.distributed as dist

reduce_scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
PASSES = {"all_reduce": 2, "reduce_scatter": 1}  # a ring passes (n - 1) / n of the larger buffer so often


def seconds_of(call, x, tries=20):
    """Of each try the slowest rank's seconds, ascending; two more before them do not count."""
    seconds = []
    for _ in range(tries + 2):
        dist.barrier()
        torch.cuda.synchronize() if x.is_cuda else None
        start = time.perf_counter()
        call()
        torch.cuda.synchronize() if x.is_cuda else None  # on a GPU the call returns before anything has moved
        took = torch.tensor(time.perf_counter() - start, dtype=torch.float64, device=x.device)
        dist.all_reduce(took, dist.ReduceOp.MAX)
        seconds.append(took.item())
    return sorted(seconds[2:])


def measure(name, nbytes, device):
    """One line for rank 0. nbytes: the larger of a rank's input and output."""
    nranks = dist.get_world_size()
    x = torch.ones(nbytes // 4 // nranks * nranks, device=device)
    out = x if name == "all_reduce" else torch.empty(len(x) // nranks, device=device)
    call = (lambda: dist.all_reduce(x)) if name == "all_reduce" else (lambda: reduce_scatter(out, x))
    call()
    wrong = (out != nranks).sum()  # ones of all ranks: exact in every order of additions
    dist.all_reduce(wrong)
    x.zero_()  # zeros stay zeros, however often they are summed
    seconds = seconds_of(call, x)
    middle = statistics.median(seconds)
    busbw = 4 * len(x) / middle * PASSES[name] * (nranks - 1) / nranks / 1e9
    spread = f"{seconds[0] * 1e6:.0f} to {seconds[-1] * 1e6:.0f} us"
    return f"{name:14} {4 * len(x):>9} B {middle * 1e6:>9.1f} us ({spread}) busbw {busbw:.4f} GB/s, {wrong} wrong"


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
    assert dist.get_world_size() > 1, "one rank sends nothing: busbw needs two"
    for name in PASSES:
        for nbytes in (2**14, 2**18, 2**22):
            line = measure(name, nbytes, device)
            print(line) if dist.get_rank() == 0 else None
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
