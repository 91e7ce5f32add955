"""What a message costs: alpha and beta between rank 0 and rank 1, by ping-pong and one straight line. Run it anywhere torch is:

    torchrun --nproc-per-node 4 scripts/latency-bandwidth.py

The other ranks wait at a barrier. A message of n bytes takes about alpha + n * beta seconds; the last column says how nearly.
"""

import os
import time

import torch
import torch.distributed as dist

SIZES = [4**k for k in range(1, 13)]  # 4 B to 16 MiB


def one_way(nbytes, device, tries=5):
    """Seconds of one message: half a round trip, the least of several tries of several round trips each."""
    ball = torch.zeros(nbytes, dtype=torch.uint8, device=device)
    peer = 1 - dist.get_rank()
    first, second = (dist.send, dist.recv) if peer == 1 else (dist.recv, dist.send)
    rounds = 20 if nbytes < 2**20 else 4
    seconds = []
    for _ in range(tries + 1):  # the first try connects, and does not count
        start = time.perf_counter()
        for _ in range(rounds):
            first(ball, peer)
            second(ball, peer)
        if device.type == "cuda":
            torch.cuda.synchronize()  # on a GPU, send and recv return before anything has moved
        seconds.append((time.perf_counter() - start) / rounds / 2)
    return min(seconds[1:])


def fit(sizes, seconds):
    """alpha, beta with the least sum of squared relative errors: solve (1/t, n/t) (alpha, beta) = 1."""
    rows = torch.tensor([[1 / t, n / t] for n, t in zip(sizes, seconds, strict=True)], dtype=torch.float64)
    ones = torch.ones(len(rows), 1, dtype=torch.float64)
    return torch.linalg.lstsq(rows, ones).solution.flatten().tolist()


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
    rank = dist.get_rank()
    assert dist.get_world_size() > 1, "a message needs two ranks"
    seconds = [one_way(nbytes, device) for nbytes in SIZES] if rank < 2 else []
    if rank == 0:
        alpha, beta = fit(SIZES, seconds)
        print(f"{dist.get_backend()}: alpha {alpha * 1e6:.1f} us, {1 / beta / 1e9:.2f} GB/s one way", end=", ")
        print(f"half of it at {alpha / beta / 1024:.0f} KiB")
        for n, t in zip(SIZES, seconds, strict=True):
            print(f"{n:>9} B {t * 1e6:>10.1f} us   the line: {(alpha + n * beta) / t - 1:+.0%}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
