"""All-reduce by recursive halving and doubling over plain send and recv, in one file. Run it anywhere torch is:

    torchrun --nproc-per-node 4 scripts/halving-doubling.py

Any number of ranks: those beyond the largest power of two fold. The result is compared with dist.all_reduce, bit by bit.
"""

import os

import torch
import torch.distributed as dist


def exchange(peer, out, landing):
    """Sends out to peer while landing arrives from it. Both ends know when there is nothing to send."""
    calls = []
    if out.numel():
        calls.append(dist.P2POp(dist.isend, out, peer))
    if landing.numel():
        calls.append(dist.P2POp(dist.irecv, landing, peer))
    if calls:
        for work in dist.batch_isend_irecv(calls):
            work.wait()


def halving_doubling_all_reduce(buffer):
    """Sums a flat buffer over all ranks, in place."""
    rank, size = dist.get_rank(), dist.get_world_size()
    core = 2 ** (size.bit_length() - 1)  # the largest power of two that the ranks fill
    nothing, incoming = buffer[:0], torch.empty_like(buffer)
    if rank >= core:  # fold: hand everything to a partner, and get it back when all is done
        exchange(rank - core, buffer, nothing)
        exchange(rank - core, nothing, buffer)
        return
    if rank + core < size:
        exchange(rank + core, nothing, incoming)
        buffer += incoming
    mine, way = buffer, []
    for bit in reversed(range(core.bit_length() - 1)):  # halving: give one half away, add to the other
        peer = rank ^ 2**bit
        low, high = mine.tensor_split(2)  # views: adding into a half changes the buffer
        mine, theirs = (low, high) if rank < peer else (high, low)
        exchange(peer, theirs, incoming[: mine.numel()])
        mine += incoming[: mine.numel()]
        way.append((peer, mine, theirs))
    for peer, mine, theirs in reversed(way):  # doubling: the same way back, and nothing is added any more
        exchange(peer, mine, theirs)
    if rank + core < size:
        exchange(rank + core, buffer, nothing)


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
    for numel in (1, 10, 1_000_003):
        buffer = (torch.arange(numel, device=device) % 1000 + dist.get_rank()).float()  # whole numbers: sums are exact
        expected = buffer.clone()
        dist.all_reduce(expected)
        halving_doubling_all_reduce(buffer)
        assert torch.equal(buffer, expected), f"rank {dist.get_rank()}: halving-doubling differs at {numel} elements"
        if dist.get_rank() == 0:
            print(f"{dist.get_backend()}, {dist.get_world_size()} ranks: {buffer.nbytes:>8} B  equal bit by bit")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
