#!/usr/bin/env bash
# torch 2.13.0, DTensor: what is cross_entropy of eight rows, four on each of two ranks, three of which ignore_index leaves out?
# Expected: the mean over the five rows that count, as of the whole: a DTensor stands for the whole tensor.
# Seen: the mean of the ranks' means. A rank with one row that counts weighs as much as one with four. The gradient is that of the whole, so the
# training is right and the loss that it writes down is not. (2.11 does so, too; 2.14 and 2.15 give the loss of the whole.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > "$folder/ignored.py" <<'PY'
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor


def rank(number, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=2)
    mesh = init_device_mesh("cpu", (2,))
    x, y = torch.zeros(8, 2), torch.tensor([0, 0, 0, 0, 1, -100, -100, -100])
    x[:, 0] = 1.0
    whole, cut = x.clone().requires_grad_(), distribute_tensor(x, mesh, [Shard(0)]).requires_grad_()
    one, two = F.cross_entropy(whole, y), F.cross_entropy(cut, distribute_tensor(y, mesh, [Shard(0)]))
    one.backward()
    two.backward()
    said, grad = two.full_tensor().item(), cut.grad.full_tensor()
    means = (F.cross_entropy(x[:4], y[:4]).item() + F.cross_entropy(x[4:], y[4:]).item()) / 2
    if number == 0:
        print(f"of the whole {one.item():.3f}, of two ranks {said:.3f}, mean of their means {means:.3f}")
    assert torch.allclose(grad, whole.grad) and abs(said - means) < 1e-6 and said - one.item() > 0.29
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # at the end of a process torch's threads abort it, now and then


if __name__ == "__main__":
    mp.spawn(rank, (sys.argv[1],), nprocs=2)
PY
"$folder/venv/bin/python" "$folder/ignored.py" "$folder/store"
echo "as stated"
