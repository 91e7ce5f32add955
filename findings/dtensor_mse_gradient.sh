#!/usr/bin/env bash
# torch 2.13.0, DTensor: what is the gradient of mse_loss of eight rows, four on each of two ranks?
# Expected: that of the whole: 2 (x - y) / 40 for 8 x 5 numbers. The loss itself is right.
# Seen: twice that, P times on P ranks, as of smooth_l1_loss, huber_loss and binary_cross_entropy; l1_loss and cross_entropy are right. The backward
# divides by the numbers of its own rank, where the loss is a mean of the ranks' means.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > "$folder/mse.py" <<'PY'
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
    torch.manual_seed(0)
    x, y = torch.rand(8, 5), torch.rand(8, 5)
    off = {}
    for loss in (F.mse_loss, F.smooth_l1_loss, F.huber_loss, F.binary_cross_entropy, F.l1_loss):
        whole, cut = x.clone().requires_grad_(), distribute_tensor(x, mesh, [Shard(0)]).requires_grad_()
        one, two = loss(whole, y), loss(cut, distribute_tensor(y, mesh, [Shard(0)]))
        one.backward()
        two.backward()
        assert torch.allclose(one, two.full_tensor())
        off[loss.__name__] = round((cut.grad.full_tensor() / whole.grad).mean().item(), 3)
    if number == 0:
        print("gradient of two ranks over that of one:", off)
    assert list(off.values()) == [2, 2, 2, 2, 1]
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # at the end of a process torch's threads abort it, now and then


if __name__ == "__main__":
    mp.spawn(rank, (sys.argv[1],), nprocs=2)
PY
"$folder/venv/bin/python" "$folder/mse.py" "$folder/store"
echo "as stated"
