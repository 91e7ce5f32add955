#!/usr/bin/env bash
# torch 2.13.0: how many bytes does the scalar of F.mse_loss hold, and the gradient of an image that F.unfold took apart by 3 x 3?
# Expected: 4 bytes, and as many as the image has.
# Seen: as many as mse_loss's input, 4 MiB here, and nine times the image. Both kernels make their result in their input's shape, compute,
# and resize it down, which leaves the block; so losses that are collected in a list, detached or not, hold their batches' sizes.
# l1_loss, cross_entropy and .square().mean() hold what they show; smooth_l1_loss, soft_margin_loss, binary_cross_entropy and F.fold do not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > "$folder/blocks.py" <<'PY'
import torch
from torch.nn import functional as F


def block(tensor):
    return tensor.untyped_storage().nbytes()


x, y = torch.rand(1024, 1024), torch.rand(1024, 1024)
losses = {f.__name__: f(x, y) for f in (F.mse_loss, F.smooth_l1_loss, F.binary_cross_entropy, F.l1_loss)}
losses["detached"] = F.mse_loss(x, y).detach()
for name, loss in losses.items():
    print(f"{name}: {loss.nbytes} bytes in a block of {block(loss):,}")
image = torch.rand(2, 8, 32, 32, requires_grad=True)
F.unfold(image, 3, padding=1).sum().backward()
print(f"unfold's gradient: {image.grad.nbytes:,} bytes in a block of {block(image.grad):,}")
assert {name: block(loss) for name, loss in losses.items() if block(loss) != x.nbytes} == {"l1_loss": 4}
assert block(image.grad) == 9 * image.grad.nbytes
PY
"$folder/venv/bin/python" "$folder/blocks.py"
echo "as stated"
