"""What did NCCL choose, and what does another version choose? Keeps the choices of a run by size; compares two runs:

    torchrun --nproc-per-node 4 scripts/choosing.py before.json
    python scripts/choosing.py before.json after.json

Between the two: another NCCL, another driver, another setting. Gloo on CPUs chooses nothing: then the times alone are compared.
"""

import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist

CHOICE = re.compile(r"AllReduce: (\d+) Bytes -> Algo (\w+) proto (\w+)")  # rank 0, NCCL 2.24 or newer, under TUNING


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


def seconds(buffer, calls=20):
    """The mean of some calls, after two that nobody counts; an item comes when the device has done what it was given."""
    for _ in range(2):
        dist.all_reduce(buffer)
    buffer[0].item()
    start = time.perf_counter()
    for _ in range(calls):
        dist.all_reduce(buffer)
    buffer[0].item()
    return (time.perf_counter() - start) / calls


def record(path, folder):
    """By size the choice and the seconds of this run, written by rank 0; NCCL writes its log into `folder`."""
    log = Path(folder, "nccl.log")
    os.environ.update(NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="ENV,TUNING", NCCL_DEBUG_FILE=str(log))  # before NCCL starts
    device = set_up()
    times = {2**k: seconds(torch.zeros(2**k // 4, device=device)) for k in range(10, 27, 2)}
    if dist.get_rank() == 0:
        said = {int(n): f"{a}/{p}" for n, a, p in CHOICE.findall(log.read_text())} if log.exists() else {}
        rows = {nbytes: [said.get(nbytes, "not logged"), once] for nbytes, once in times.items()}
        Path(path).write_text(json.dumps(rows))
        print(f"{len(rows)} sizes in {path}")
    dist.destroy_process_group()


def compare(before, after):
    """A line for every size of both runs; an arrow where another way was chosen."""
    old, new = (json.loads(Path(path).read_text()) for path in (before, after))
    for nbytes in (size for size in old if size in new):
        was, slow = old[nbytes]
        now, fast = new[nbytes]
        ways = was if was == now else f"{was} -> {now}"
        print(f"{nbytes:>9} B {slow * 1e6:>9.1f} us, then {fast * 1e6:>9.1f} us  {ways}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("expected the name of a file to write, or of two files to compare")
    if len(sys.argv) == 3:
        compare(*sys.argv[1:])
    else:
        with tempfile.TemporaryDirectory() as folder:
            record(sys.argv[1], folder)
