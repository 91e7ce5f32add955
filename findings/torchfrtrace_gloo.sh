#!/usr/bin/env bash
# torch 2.13.0: does torchfrtrace, the reader of flight records that torch installs, read those of a sound Gloo job?
# Expected: yes. Gloo's process group writes into the same recorder as NCCL's (torch.distributed's own dump gives its entries), and the
# tool's --help names no backend.
# Seen: two records of two ranks that made the same two all_reduces end it with a KeyError: the records list no membership of the group.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 tabulate==0.9.0
cat > "$folder/record.py" <<'PY'
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch._C._distributed_c10d import _dump_fr_trace


def rank(number, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=number, world_size=2)
    for _ in range(2):
        dist.all_reduce(torch.ones(4))
    with open(f"{folder}/records/rank_{number}", "wb") as file:
        file.write(_dump_fr_trace())
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(rank, (sys.argv[1],), nprocs=2)
PY
mkdir "$folder/records"
TORCH_FR_BUFFER_SIZE=100 "$folder/venv/bin/python" "$folder/record.py" "$folder"
status=0
"$folder/venv/bin/torchfrtrace" "$folder/records" -p rank_ > "$folder/said" 2>&1 || status=$?
tail -n 1 "$folder/said"
test "$status" -eq 1 && tail -n 1 "$folder/said" | grep -q "^KeyError: "
echo "as stated"
