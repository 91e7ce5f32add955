#!/usr/bin/env bash
# torch 2.13.0, FSDP2 on a CPU mesh: a model made on meta, sharded, then filled by nn.init on every rank, all with one seed.
# Expected: one seed gives one model, that of a single process with this seed, or at least rows that all differ: a shard knows where it lies.
# Seen: each rank draws the same numbers for its own rows, so the whole matrix is one half twice. Nothing warns.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > "$folder/alike.py" <<'PY'
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.fsdp import fully_shard


def rank(number, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=2)
    torch.manual_seed(0)
    model = fully_shard(torch.nn.Linear(4, 4, bias=False, device="meta"))
    model.to_empty(device="cpu")
    torch.nn.init.normal_(model.weight)
    whole = model.weight.full_tensor()
    if number == 0:
        print(whole.tolist())
    assert torch.equal(whole[:2], whole[2:]) and torch.linalg.matrix_rank(whole) == 2
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # at the end of a process torch's threads abort it, now and then


if __name__ == "__main__":
    mp.spawn(rank, (sys.argv[1],), nprocs=2)
PY
"$folder/venv/bin/python" "$folder/alike.py" "$folder/store"
echo "as stated"
