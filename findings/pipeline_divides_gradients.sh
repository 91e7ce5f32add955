#!/usr/bin/env bash
# torch 2.13.0, torch.distributed.pipelining: what stands in .grad after two calls of schedule.step() with the same batch, without zero_grad?
# Expected: twice the first, as after two calls of backward: gradients are added up.
# Seen: 1 and a quarter of it. step() divides by the number of micro-batches whatever stands in .grad, also what was there before it, so of two batches
# that are added up the first counts a fourth, and a sixteenth after a third. With scale_grads=False nothing is divided.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > "$folder/pipeline.py" <<'PY'
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.pipelining import PipelineStage, Schedule1F1B


def rank(number, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=2)
    seen = []
    for _ in range(2):
        layer = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.ones_(layer.weight)
        stage = PipelineStage(layer, number, 2, torch.device("cpu"))
        schedule = Schedule1F1B(stage, 4, loss_fn=lambda out, _: out.mean(), scale_grads=not seen)
        grads = []
        for _ in range(3):
            schedule.step(torch.ones(4, 1)) if number == 0 else schedule.step(target=torch.zeros(4, 1))
            grads.append(layer.weight.grad.item())
        seen.append(grads)
    if number == 0:
        print(f"after one, two and three calls: {seen[0]}; with scale_grads=False: {seen[1]}")
    assert seen == [[1.0, 1.25, 1.3125], [4.0, 8.0, 12.0]]
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # at the end of a process torch's threads abort it, now and then


if __name__ == "__main__":
    mp.spawn(rank, (sys.argv[1],), nprocs=2)
PY
"$folder/venv/bin/python" "$folder/pipeline.py" "$folder/store"
echo "as stated"
