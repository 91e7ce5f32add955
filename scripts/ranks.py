"""What a rank is, in one file: who is who, a barrier, a subgroup, and a collective that runs while you compute.

    torchrun --nproc-per-node 4 scripts/ranks.py

Rank 0 prints what every rank found. Nothing here is needed from a notebook: torchrun starts the processes and names them.
"""

import os
import time

import torch
import torch.distributed as dist


def seconds_of_all_reduce(device, meet_first):
    """How long one all_reduce seems to take to this rank, when the last rank is 200 ms late."""
    mine = torch.ones(1000, device=device)
    if dist.get_rank() == dist.get_world_size() - 1:
        time.sleep(0.2)
    if meet_first:
        dist.barrier()
    start = time.perf_counter()
    dist.all_reduce(mine)
    mine[0].item()  # on a GPU the call returned when it was enqueued; this waits for the number
    return time.perf_counter() - start


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
    rank, size = dist.get_rank(), dist.get_world_size()
    halves = [list(range(0, size, 2)), list(range(1, size, 2)) or [0]]
    groups = [dist.new_group(half) for half in halves]  # every rank makes every group, also those it is not in
    total = torch.tensor([float(rank)], device=device)
    dist.all_reduce(total, group=groups[rank % 2])
    seconds_of_all_reduce(device, True)  # the first call pays for connections
    alone = seconds_of_all_reduce(device, False)
    met = seconds_of_all_reduce(device, True)
    handle = dist.all_reduce(torch.ones(2**20, device=device), async_op=True)
    torch.ones(500, 500, device=device).pow(2).sum()  # something else to do meanwhile
    handle.wait()
    found = [None] * size
    line = f"rank {rank} of {size}, local rank {os.environ['LOCAL_RANK']}, {device}: its half sums to {total.item():g}"
    dist.all_gather_object(found, f"{line}; all_reduce {alone * 1e3:.1f} ms, after a barrier {met * 1e3:.1f} ms")
    if rank == 0:
        print("\n".join([f"backend {dist.get_backend()}", *found]))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
