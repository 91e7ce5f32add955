#!/usr/bin/env bash
# torch 2.13.0, sequence parallelism by DTensor: how many all_reduces does a step of AdamW make for a norm's weight?
# Expected: none, since backward has reduced its gradient, or one: the optimizer works on each rank's own numbers.
# Seen: three. Backward leaves the gradient Partial, still to be added up. Each of AdamW's uses of it adds it up anew; SGD has one use, and one sum.
# Who redistributes the gradients to Replicate before the step pays one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > "$folder/thrice.py" <<'PY'
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import SequenceParallel, parallelize_module


def rank(number, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=2)
    norm = torch.nn.RMSNorm(4)
    parallelize_module(norm, init_device_mesh("cpu", (2,)), SequenceParallel())
    norm(torch.ones(1, 4, 4)).full_tensor().sum().backward()
    counts = {}
    for optimizer in (torch.optim.SGD, torch.optim.AdamW):
        with CommDebugMode() as talked:
            optimizer(norm.parameters(), lr=0.1).step()
        counts[optimizer.__name__] = talked.get_total_counts()
    if number == 0:
        print(f"the gradient is {norm.weight.grad.placements}; a step talks {counts} times")
    assert norm.weight.grad.placements[0].is_partial() and counts == {"SGD": 1, "AdamW": 3}
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # at the end of a process torch's threads abort it, now and then


if __name__ == "__main__":
    mp.spawn(rank, (sys.argv[1],), nprocs=2)
PY
"$folder/venv/bin/python" "$folder/thrice.py" "$folder/store"
echo "as stated"
