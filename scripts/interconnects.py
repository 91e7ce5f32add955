"""How fast is each pair of ranks? A row for every two: seconds of one message, and GB/s one way. Run it anywhere torch is:

    torchrun --nproc-per-node 4 scripts/interconnects.py --mib 64
    torchrun --nnodes 2 --nproc-per-node 8 ... scripts/interconnects.py    # two nodes: which pairs go by the network?

One pair sends at a time, the others wait at a barrier. On GPUs, NCCL_DEBUG=INFO says beside it which transport a pair has.
"""

import argparse
import os
import time
from itertools import combinations

import torch
import torch.distributed as dist


def one_way(ball, peer, first, tries=5):
    """Seconds of one message: half a round trip, the least of several."""
    there, back = (dist.send, dist.recv) if first else (dist.recv, dist.send)
    seconds = []
    for _ in range(tries + 1):  # the first try connects, and does not count
        start = time.perf_counter()
        there(ball, peer)
        back(ball, peer)
        if ball.device.type == "cuda":
            torch.cuda.synchronize()  # on a GPU, send and recv return before anything has moved
        seconds.append((time.perf_counter() - start) / 2)
    return min(seconds[1:])


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
    parser = argparse.ArgumentParser()
    parser.add_argument("--mib", type=float, default=64, help="size of a message")
    nbytes = int(parser.parse_args().mib * 2**20)
    device = set_up()
    rank, nranks = dist.get_rank(), dist.get_world_size()
    if nranks < 2 or nbytes < 1:
        raise SystemExit(f"a message needs two ranks and a byte: {nranks} ranks, {nbytes} B")
    ball = torch.zeros(nbytes, dtype=torch.uint8, device=device)
    node = int(os.environ.get("GROUP_RANK", 0))
    nodes = [torch.zeros(1, dtype=torch.int64, device=device) for _ in range(nranks)]
    dist.all_gather(nodes, torch.tensor([node], device=device))
    for a, b in combinations(range(nranks), 2):
        seconds = torch.zeros(1, dtype=torch.float64, device=device)
        if rank in (a, b):
            seconds += one_way(ball, a + b - rank, rank == a)
        dist.all_reduce(seconds, op=dist.ReduceOp.MAX)  # both have it, and the others have waited
        if rank == 0:
            where = "one node" if int(nodes[a]) == int(nodes[b]) else "two nodes"
            t = seconds.item()
            print(f"{a:>3} - {b:<3} {where:>9} {t * 1e3:10.3f} ms {nbytes / t / 1e9:8.2f} GB/s one way")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
