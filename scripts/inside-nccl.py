"""Which algorithm and protocol does NCCL choose, by size? It says so in its own log. One file, run anywhere torch is:

    torchrun --nproc-per-node 4 scripts/inside-nccl.py

On GPUs rank 0 prints, for every size, what NCCL logged (2.24 or newer) beside the time. Gloo on CPUs logs nothing: times alone.
"""

import os
import re
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist

# src/enqueue.cc prints this on rank 0 under NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=TUNING
CHOICE = re.compile(r"AllReduce: (\d+) Bytes -> Algo (\w+) proto (\w+) channel\{Lo\.\.Hi\}=\{(\d+)\.\.(\d+)\}")


def choices(log):
    """By size: (algorithm, protocol, channels), as the lines of the log say."""
    found = {}
    for nbytes, algorithm, protocol, low, high in CHOICE.findall(log):
        found[int(nbytes)] = (algorithm, protocol, int(high) - int(low) + 1)
    return found


def seconds(buffer, calls=20):
    """The mean of some calls, after two that nobody counts."""
    for call in range(calls + 2):
        if call == 2:
            wait(buffer)
            start = time.perf_counter()
        dist.all_reduce(buffer)
    wait(buffer)
    return (time.perf_counter() - start) / calls


def wait(buffer):
    """Until this rank's device has done what it was given."""
    if buffer.is_cuda:
        torch.cuda.synchronize()


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
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder, "nccl.log"))


def compare(log):
    """What was chosen beside what it took, printed by rank 0; NCCL writes into `log`."""
    os.environ.update(NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="TUNING", NCCL_DEBUG_FILE=str(log))  # before NCCL starts
    device = set_up()
    sizes = [4**k for k in range(5, 14)]  # 1 KiB to 64 MiB
    times = {nbytes: seconds(torch.zeros(nbytes // 4, device=device)) for nbytes in sizes}
    if dist.get_rank() == 0:
        said = choices(log.read_text()) if log.exists() else {}
        for nbytes in sizes:
            algorithm, protocol, channels = said.get(nbytes, ("not logged", "", ""))
            print(f"{nbytes:>9} B {times[nbytes] * 1e6:>9.1f} us  {algorithm:10} {protocol:7} {channels}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
