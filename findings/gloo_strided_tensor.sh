#!/usr/bin/env bash
# torch 2.13.0, Gloo: what does all_reduce do to every second element of a tensor, x[::2]?
# Expected: an error that says that the tensor is not contiguous, as NCCL's process group raises it, or the sum of what was given.
# Seen: neither and no word. As many elements as the view has, from where its memory begins, are summed: 0, 1, 2 and 3 in place of 0, 2, 4, 6.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > "$folder/view.py" <<'PY'
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def rank(number, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=2)
    x = torch.arange(8.0)
    dist.all_reduce(x[::2])
    if number == 0:
        print(f"given x[::2], summed: {x.tolist()}")
        assert x.tolist() == [0.0, 2.0, 4.0, 6.0, 4.0, 5.0, 6.0, 7.0]
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(rank, (sys.argv[1],), nprocs=2)
PY
"$folder/venv/bin/python" "$folder/view.py" "$folder/store"
echo "as stated"
