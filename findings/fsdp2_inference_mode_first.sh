#!/usr/bin/env bash
# torch 2.13.0, FSDP2: does an evaluation before the training, under torch.inference_mode(), change the training?
# Expected: no more than one under torch.no_grad(): it keeps nothing for a backward.
# Seen: the first forward makes FSDP2's buffers, and makes them inference tensors for good. The first forward of the training raises "Inplace update to
# inference tensor outside InferenceMode is not allowed"; under no_grad() it does not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > "$folder/inference.py" <<'PY'
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.fsdp import fully_shard


def rank(number, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=2)
    def trains_after(evaluating):
        model, x = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), torch.ones(1, 2)
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
        with evaluating():
            model(x)
        try:
            model(x).sum().backward()
        except RuntimeError as error:
            return str(error).partition(".")[0]
        return "trains"

    said = {mode.__name__: trains_after(mode) for mode in (torch.no_grad, torch.inference_mode)}
    if number == 0:
        print(said)
    assert said["no_grad"] == "trains" and said["inference_mode"].startswith("Inplace update to inference tensor")
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # at the end of a process torch's threads abort it, now and then


if __name__ == "__main__":
    mp.spawn(rank, (sys.argv[1],), nprocs=2)
PY
"$folder/venv/bin/python" "$folder/inference.py" "$folder/store"
echo "as stated"
