"""Ring all-reduce over plain send and recv, in one file. Run it anywhere torch is:

    torchrun --nproc-per-node 4 scripts/ring.py

Every rank fills a buffer, the ring sums it, and the result is compared with dist.all_reduce, bit by bit.
"""

import os
import time

import torch
import torch.distributed as dist


def ring_all_reduce(buffer):
    """Sums buffer over all ranks, in place. Rank r first sends chunk r-1, so it owns chunk r half way."""
    rank, size = dist.get_rank(), dist.get_world_size()
    chunks = buffer.tensor_split(size)  # views: adding into a chunk changes the buffer
    incoming = torch.empty_like(chunks[0])  # tensor_split makes the first chunk the longest
    for step in range(2 * (size - 1)):
        out = chunks[(rank - 1 - step) % size]
        mine = chunks[(rank - 2 - step) % size]
        landing = incoming[: mine.numel()]
        calls = []
        if out.numel():
            calls.append(dist.P2POp(dist.isend, out, (rank + 1) % size))
        if mine.numel():
            calls.append(dist.P2POp(dist.irecv, landing, (rank - 1) % size))
        if calls:
            for work in dist.batch_isend_irecv(calls):
                work.wait()
        if step < size - 1:
            mine += landing  # reduce-scatter: a partial sum grows by one rank
        else:
            mine.copy_(landing)  # all-gather: a finished sum is passed on


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
    for numel in (1, 10, 1_000_003, 2**22):
        buffer = (torch.arange(numel, device=device) % 1000 + dist.get_rank()).float()  # whole numbers: sums are exact
        expected = buffer.clone()
        dist.all_reduce(expected)
        dist.barrier()
        start = time.perf_counter()
        ring_all_reduce(buffer)
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        assert torch.equal(buffer, expected), f"rank {dist.get_rank()}: the ring differs at {numel} elements"
        if dist.get_rank() == 0:
            print(f"{dist.get_backend()}: {buffer.nbytes:>10} B  equal bit by bit  {seconds * 1e3:8.2f} ms")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
