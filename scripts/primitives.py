"""Ten primitives of torch.distributed, before and after, in plain torch: one file to take home.

    torchrun --nproc-per-node 4 scripts/primitives.py

Rank r starts with 10r, 10r + 1, ..., so that every number tells where it came from.
"""

import os

import torch
import torch.distributed as dist


def tell(name, before, after):
    """Rank 0 prints what every rank held, in rank order."""
    seen = [None] * dist.get_world_size()
    dist.all_gather_object(seen, (before.tolist(), None if after is None else after.tolist()))
    if dist.get_rank() == 0:
        lines = [f"  rank {rank}: {held} -> {holds}" for rank, (held, holds) in enumerate(seen)]
        print(name, *lines, sep="\n", flush=True)


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
    mine = torch.arange(size, device=device) + 10 * rank  # size numbers on every rank

    x = mine.clone()
    dist.all_reduce(x)
    tell("all_reduce", mine, x)
    x = mine.clone()
    dist.broadcast(x, src=0)
    tell("broadcast", mine, x)
    x = mine.clone()
    dist.reduce(x, dst=0)
    tell("reduce", mine, x if rank == 0 else None)  # off the root x is undefined
    whole, part, swapped = mine.new_empty(size * size), mine.new_empty(1), mine.new_empty(size)
    dist.all_gather(list(whole.chunk(size)), mine)
    tell("all_gather", mine, whole)
    dist.reduce_scatter(part, list(mine.clone().chunk(size)))
    tell("reduce_scatter", mine, part)
    dist.scatter(part, list(mine.chunk(size)) if rank == 0 else None, src=0)
    tell("scatter", mine, part)
    dist.gather(mine, list(whole.chunk(size)) if rank == 0 else None, dst=0)
    tell("gather", mine, whole if rank == 0 else None)
    dist.all_to_all_single(swapped, mine)
    tell("all_to_all", mine, swapped)
    assert swapped.tolist() == [10 * r + rank for r in range(size)], "an all_to_all is a transposition"
    x = mine.clone()
    send = dist.P2POp(dist.isend, mine, (rank + 1) % size)
    recv = dist.P2POp(dist.irecv, x, (rank - 1) % size)
    if size > 1:
        for work in dist.batch_isend_irecv([send, recv]):
            work.wait()
    tell("send and recv", mine, x)
    dist.barrier()  # nobody leaves before the last has come
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
