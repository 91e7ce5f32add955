"""The two bandwidths of a collective: times dist.all_reduce; size, time, algbw and busbw in words. Run it anywhere torch is:

    torchrun --nproc-per-node 4 scripts/units.py

algbw is the buffer over the time; busbw is what each rank of a ring would send over that time, one way. GB are 10^9 bytes.
"""

import os
import time

import torch
import torch.distributed as dist

SIZES = [2**16, 2**20, 2**24]  # 64 KiB to 16 MiB
GB = 10**9


def seconds_of(buffer, tries=5):
    """Seconds of one all_reduce: of each try the slowest rank counts, and of all tries the least."""
    seconds = []
    for _ in range(tries + 1):  # the first try connects, and does not count
        dist.barrier()
        if buffer.is_cuda:
            torch.cuda.synchronize()
        start = time.perf_counter()
        dist.all_reduce(buffer)
        if buffer.is_cuda:
            torch.cuda.synchronize()  # on a GPU the call returns before anything has moved
        took = torch.tensor(time.perf_counter() - start, dtype=torch.float64, device=buffer.device)
        dist.all_reduce(took, dist.ReduceOp.MAX)
        seconds.append(took.item())
    return min(seconds[1:])


def bandwidths(nbytes, nranks, seconds):
    """(algbw, busbw) of an all_reduce, in bytes per second."""
    algbw = nbytes / seconds
    return algbw, algbw * 2 * (nranks - 1) / nranks


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
    nranks = dist.get_world_size()
    assert nranks > 1, "one rank sends nothing: busbw needs two"
    for nbytes in SIZES:
        seconds = seconds_of(torch.zeros(nbytes // 4, device=device))
        algbw, busbw = bandwidths(nbytes, nranks, seconds)
        if dist.get_rank() == 0:
            where = f"{nranks} ranks, {dist.get_backend()}"
            print(f"{nbytes / 2**20:g} MiB = {nbytes / GB:.6f} GB on {where}: {seconds * 1e6:.1f} us")
            print(f"   algbw {algbw / GB:.4f} GB/s of the buffer; a ring sends {busbw / GB:.4f} GB/s one way (busbw)")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
