"""A put and a signal, beside a send and a receive of the same bytes. One file, run anywhere torch is:

    torchrun --nproc-per-node 4 scripts/who-moves.py

On CPUs all map one file; on GPUs of one node it is torch's symmetric memory (alpha), which maps each GPU's for all.
"""

import os
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem


def window(rank, nranks, device, numel):
    """Every rank's part, which all may write, and how a rank is told so: parts, signal(dst), wait(src)."""
    if device.type == "cuda":
        each = symm_mem.rendezvous(symm_mem.empty(numel, device=device), dist.group.WORLD)
        return [each.get_buffer(r, (numel,), torch.float32) for r in range(nranks)], each.put_signal, each.wait_signal
    name = [tempfile.mkstemp()[1] if rank == 0 else None]
    dist.broadcast_object_list(name)
    raw = torch.from_file(name[0], shared=True, size=nranks * (4 * numel + 8), dtype=torch.uint8)
    flags = raw[-8 * nranks :].view(torch.int64)  # raised behind the data: x86 keeps that order, Arm wants a fence
    dist.barrier()  # all have it open
    Path(name[0]).unlink(missing_ok=True)

    def wait(src):
        while not flags[rank]:
            time.sleep(0)
        flags[rank] = 0

    return raw[: -8 * nranks].view(torch.float32).split(numel), lambda dst: flags[dst].fill_(1), wait


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
    rank, nranks = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % nranks, (rank - 1) % nranks
    assert right != rank, "a put wants two ranks: 1 rank"
    data, landed = torch.full((1 << 22,), float(rank), device=device), torch.empty(1 << 22, device=device)
    parts, signal, wait = window(rank, nranks, device, len(data))

    def put():
        parts[right].copy_(data)
        signal(right)
        wait(left)

    def send():
        pair = [dist.P2POp(dist.isend, data, right), dist.P2POp(dist.irecv, landed, left)]
        for work in dist.batch_isend_irecv(pair):
            work.wait()

    for name, call, got in (("put and signal", put, parts[rank]), ("send and receive", send, landed)):
        call()  # the first is not timed
        got.zero_()
        dist.barrier()
        start = time.perf_counter()
        call()
        took = f"{got[-1].item():.0f} after {(time.perf_counter() - start) * 1e6:.0f} us"  # item() waits for a GPU
        print(f"rank {rank}: {name}, {took}, {'whole' if (got == left).all() else 'TORN'}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
