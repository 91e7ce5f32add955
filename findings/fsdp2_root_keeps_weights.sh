#!/usr/bin/env bash
# torch 2.13.0, FSDP2: backward, an evaluation under no_grad, step. With which weights does the next forward compute?
# Expected: with those of the step, whatever was evaluated before it.
# Seen: a unit of its own does, the root does not. After forward the root keeps what it gathered, for a backward; the evaluation has none, so the
# step changes the shards alone, and the root computes with its old weights until some backward has dropped them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > "$folder/root.py" <<'PY'
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.fsdp import fully_shard


def rank(number, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=2)
    def forward_after(evaluate):
        layers = nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False)
        for layer in layers:
            nn.init.ones_(layer.weight)
        fully_shard(layers[0])
        model, x = fully_shard(nn.Sequential(*layers)), torch.ones(1, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.25)
        model(x).sum().backward()
        if evaluate:
            with torch.no_grad():
                model(x)
        optimizer.step()
        return model(x).item()

    without, with_evaluation = forward_after(False), forward_after(True)
    if number == 0:
        print(f"forward after the step: {without:g}; with an evaluation before it: {with_evaluation:g}")
    assert (without, with_evaluation) == (1.5, 3.0)
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # at the end of a process torch's threads abort it, now and then


if __name__ == "__main__":
    mp.spawn(rank, (sys.argv[1],), nprocs=2)
PY
"$folder/venv/bin/python" "$folder/root.py" "$folder/store"
echo "as stated"
