#!/usr/bin/env bash
# torch 2.13.0, Gloo: what is the maximum over four ranks that hold 0, NaN, 2 and 3?
# Expected: NaN everywhere, as torch.maximum says and as the sum over the same ranks does. Who hunts a NaN reduces a norm by MAX.
# Seen: of 64 equal elements some are NaN, some 0 and some 3, the same on all ranks: a NaN loses or wins by which operand it is, and the
# ring adds the chunks in different orders. MIN does it, too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > "$folder/max.py" <<'PY'
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def rank(number, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=4)
    mine = torch.full((64,), [0.0, float("nan"), 2.0, 3.0][number])
    found = {}
    for op in ("SUM", "MAX", "MIN"):
        x = mine.clone()
        dist.all_reduce(x, op=getattr(dist.ReduceOp, op))
        found[op] = int(x.isnan().sum())
    if number == 0:
        print(f"NaN in {found['SUM']} of 64 sums, {found['MAX']} maxima, {found['MIN']} minima")
        assert found["SUM"] == 64 and 0 < found["MAX"] < 64 and 0 < found["MIN"] < 64
        assert torch.maximum(torch.tensor(3.0), torch.tensor(float("nan"))).isnan()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(rank, (sys.argv[1],), nprocs=4)
PY
"$folder/venv/bin/python" "$folder/max.py" "$folder/store"
echo "as stated"
