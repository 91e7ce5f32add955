#!/usr/bin/env bash
# torch 2.13.0, DTensor: what is x.sum().item() of the numbers 1 to 8, cut among four ranks?
# Expected: 36 on every rank, or an error: a DTensor stands for the whole tensor, and .item() asks for its value.
# Seen: 3, 7, 11 and 15, each rank its own part. The sum is Partial, still to be added up, and .item() neither adds nor refuses;
# full_tensor() gives 36. (x > 7).any() is true on one rank alone, so `if` goes two ways, and the next collective hangs.
# (In 2.14 and 2.15 any() is true on all; .item() of the sum is as it was.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > "$folder/sum.py" <<'PY'
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor


def rank(number, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=4)
    x = distribute_tensor(torch.arange(1.0, 9.0), init_device_mesh("cpu", (4,)), [Shard(0)])
    said, whole, above = x.sum().item(), x.sum().full_tensor().item(), bool((x > 7).any())
    print(f"rank {number}: sum {said:g}, whole {whole:g}, any above 7: {above}", flush=True)
    assert (said, whole, above) == ([3.0, 7.0, 11.0, 15.0][number], 36.0, number == 3)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(rank, (sys.argv[1],), nprocs=4)
PY
"$folder/venv/bin/python" "$folder/sum.py" "$folder/store"
echo "as stated"
