"""A job that you can break, and what torch itself says about it: wrong order, missing rank, wrong shape, slow rank, dead rank.

    torchrun --nproc-per-node 4 scripts/hangs.py                           # sound
    torchrun --nproc-per-node 4 scripts/hangs.py skip --timeout 5 --ask    # broken, and who does not come is asked first

The fault is on the last rank. Without --timeout torch waits as long as it does by default: minutes.
"""

import argparse
import datetime
import os
import signal
import time

import torch
import torch.distributed as dist

FAULTS = ("order", "skip", "shape", "slow", "die")


def step(fault, device):
    """The work of one step on this rank, or what is wrong with it."""
    loss, weights = torch.ones(1, device=device), torch.ones(1024, device=device)
    tensors = [loss, weights]
    if fault == "skip":
        time.sleep(3600)  # alive, and somewhere else
    elif fault == "slow":
        time.sleep(3)
    elif fault == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "order":
        tensors = [weights, loss]
    elif fault == "shape":
        tensors = [loss, weights[:512]]
    for tensor in tensors:
        dist.all_reduce(tensor)
    return loss.item()  # on a GPU only this waits for the sum


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
    parser.add_argument("fault", nargs="?", choices=FAULTS)
    parser.add_argument("--timeout", type=float, help="seconds until torch gives a collective up")
    parser.add_argument("--ask", action="store_true", help="a monitored_barrier before each step: who does not come?")
    options = parser.parse_args()
    limit = options.timeout and datetime.timedelta(seconds=options.timeout)
    device = set_up(timeout=limit)
    asking = dist.new_group(backend="gloo", timeout=limit)  # monitored_barrier is Gloo's alone
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    patience = limit and limit * (2 if rank else 1)  # rank 0 learns who is missing: it speaks first
    for number in (1, 2, 3):
        broken = options.fault if (rank, number) == (last, 2) else None
        if options.ask and broken != "skip":
            dist.monitored_barrier(asking, patience, wait_all_ranks=True)
        print(f"rank {rank} step {number}: {step(broken, device):g}\n", end="")  # in one write
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
