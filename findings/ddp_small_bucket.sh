#!/usr/bin/env bash
# torch 2.13.0, DistributedDataParallel: which gradients are in the one small bucket of 1 MiB?
# Expected, by the comment in torch/nn/parallel/distributed.py ("a single small bucket for parameters that are defined first, such that
# their gradients don't spill into a much larger bucket, adding unnecessary latency after gradient computation finishes"): those of the
# model's first layers, the last to be computed and reduced.
# Seen: in the first step there is one bucket of everything; from the second on the small bucket holds the gradients of the LAST
# layers, the first to be computed, and everything else travels in one bucket that is full only when backward is over. With
# DDP_SET_LAST_BUCKET_CAP=1 in the environment, which the class does not document, the small bucket is that of the first layers.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.3.3
cat > "$folder/buckets.py" <<'PY'
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def rank(number, store, out):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=2)
    layers = [nn.Linear(512, 512, bias=False) for _ in range(16)]  # 1 MiB of gradients each
    model = DistributedDataParallel(nn.Sequential(*layers))
    for _ in range(3):
        model(torch.ones(1, 512)).sum().backward()
    seen = model._get_ddp_logging_data()
    if number == 0:
        with open(out, "w") as file:
            print(seen["bucket_sizes"], seen["rebuilt_bucket_sizes"], seen["rebuilt_per_bucket_param_indices"], sep=" | ", file=file)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(rank, (sys.argv[1], sys.argv[2]), nprocs=2)
PY
"$folder/venv/bin/python" "$folder/buckets.py" "$folder/store1" "$folder/default"
DDP_SET_LAST_BUCKET_CAP=1 "$folder/venv/bin/python" "$folder/buckets.py" "$folder/store2" "$folder/last"
cat "$folder/default" "$folder/last"
grep -qx '16777216 | 1048576, 15728640 | 15, 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0' "$folder/default"
grep -qx '16777216 | 15728640, 1048576 | 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15, 0' "$folder/last"
echo "as stated"
