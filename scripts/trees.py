"""NCCL's double binary tree over plain sends and receives, in one file. Run it anywhere torch is:

    torchrun --nproc-per-node 4 scripts/trees.py

Every rank fills a buffer, two trees sum half of it each, and the result is compared with dist.all_reduce, bit by bit.
"""

import os

import torch
import torch.distributed as dist


def double_tree(size):
    """The parents in both trees, -1 at a root. The second is the first mirrored, or for an odd size shifted by one rank."""
    first, second = [-1], [-1] * size
    for rank in range(1, size):  # clear the lowest set bit and set the next; beyond the last rank, only clear
        bit = rank & -rank
        cleared = rank - bit
        up = cleared | 2 * bit
        first.append(up if up < size else cleared)
    turned = [(rank + 1) % size if size % 2 else size - 1 - rank for rank in range(size)]
    for rank, up in enumerate(first):
        second[turned[rank]] = turned[up] if up >= 0 else -1
    return first, second


def tree_all_reduce(buffer, nchunks=8):
    """Sums buffer over all ranks, in place: even chunks up and down the first tree, odd ones the second."""
    rank, trees = dist.get_rank(), double_tree(dist.get_world_size())
    work = [(c, trees[i % 2]) for i, c in enumerate(buffer.tensor_split(nchunks)) if c.numel()]
    sends = []  # nobody waits for a send before the end of a phase: so the chunks follow each other through the tree
    for chunk, parents in work:
        for child in (r for r, up in enumerate(parents) if up == rank):
            landing = torch.empty_like(chunk)
            dist.recv(landing, child)
            chunk += landing
        if parents[rank] >= 0:
            sends.append(dist.isend(chunk, parents[rank]))
    for send in sends:
        send.wait()
    sends = []
    for chunk, parents in work:
        if parents[rank] >= 0:
            dist.recv(chunk, parents[rank])
        sends += [dist.isend(chunk, child) for child, up in enumerate(parents) if up == rank]
    for send in sends:
        send.wait()


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
        tree_all_reduce(buffer)
        assert torch.equal(buffer, expected), f"rank {dist.get_rank()}: the trees differ at {numel} elements"
        if dist.get_rank() == 0:
            print(f"{dist.get_backend()}: {buffer.nbytes:>10} B  equal bit by bit")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
