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
        print(name, *(f"  rank {r}: {b} -> {a}" for r, (b, a) in enumerate(seen)), sep="\n", flush=True)


def main():
    local = int(os.environ["LOCAL_RANK"])
    on_gpus = torch.cuda.is_available() and torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    if on_gpus:
        torch.cuda.set_device(local)
        torch.set_default_device("cuda")
    dist.init_process_group("nccl" if on_gpus else "gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    mine = torch.arange(size) + 10 * rank  # size numbers on every rank

    for name in ("all_reduce", "broadcast", "reduce"):
        x = mine.clone()
        getattr(dist, name)(x, *([] if name == "all_reduce" else [0]))
        tell(name, mine, None if name == "reduce" and rank else x)  # off the root of reduce, x is undefined
    whole, part, swapped = (torch.empty(n, dtype=mine.dtype) for n in (size * size, 1, size))
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
    x, right, left = mine.clone(), (rank + 1) % size, (rank - 1) % size
    pair = [dist.P2POp(dist.isend, mine, right), dist.P2POp(dist.irecv, x, left)]
    for work in dist.batch_isend_irecv(pair) if size > 1 else []:
        work.wait()
    tell("send and recv", mine, x)
    dist.barrier()  # nobody leaves before the last has come
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
