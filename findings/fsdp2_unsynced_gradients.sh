#!/usr/bin/env bash
# torch 2.13.0, FSDP2: where is a gradient that waits for its reduction (set_requires_gradient_sync(False), gradient accumulation)?
# Expected: in .grad, as under DDP's no_sync(): a norm of it says how large it is, a NaN in it is found, and zero_grad() throws it away.
# Seen: .grad is None. clip_grad_norm_ with error_if_nonfinite=True says 0 and raises nothing, and zero_grad() does not reach it: the batch that
# was thrown away, NaN here, comes back in the next backward that reduces.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > "$folder/unsynced.py" <<'PY'
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.fsdp import fully_shard


def rank(number, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=2)
    model = fully_shard(torch.nn.Linear(4, 4, bias=False))
    model.set_requires_gradient_sync(False)
    model(torch.full((1, 4), float("nan"))).sum().backward()
    grad = model.weight.grad
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True).item()
    model.zero_grad()
    model.set_requires_gradient_sync(True)
    model(torch.ones(1, 4)).sum().backward()
    back = int(model.weight.grad.full_tensor().isnan().sum())
    if number == 0:
        print(f"after a batch of NaN: .grad {grad}, norm {norm:g}; after zero_grad and a sound batch: NaN in {back} of 16")
    assert grad is None and norm == 0 and back == 16
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # at the end of a process torch's threads abort it, now and then


if __name__ == "__main__":
    mp.spawn(rank, (sys.argv[1],), nprocs=2)
PY
"$folder/venv/bin/python" "$folder/unsynced.py" "$folder/store"
echo "as stated"
