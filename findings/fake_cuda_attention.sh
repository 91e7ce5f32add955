#!/usr/bin/env bash
# torch 2.13.0, FakeTensorMode of a CPU build: which operators does attention run on fake CUDA tensors in bf16, with and without
# sdpa_kernel(FLASH_ATTENTION)? So the memory of a GPU's step is often predicted where there is no GPU.
# Expected: CUDA's flash attention, which keeps q, k, v, the result and a number a row; or an error that says this build has none.
# Seen: plain products in both cases, with an fp32 softmax of every score, [heads, tokens, tokens]: 512 times the bytes of the result with 32,768
# tokens and heads of 128 numbers. The choice is that of a build without CUDA, and sdpa_kernel is not heard.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > "$folder/fake.py" <<'PY'
from contextlib import nullcontext

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode


class Operators(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.made = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            self.made[str(func)] = out.nbytes
        return out


assert not torch.cuda.is_available(), "this is about a machine without a GPU"
for around in (nullcontext(), sdpa_kernel(SDPBackend.FLASH_ATTENTION)):
    with FakeTensorMode(), around:
        q = torch.empty(1, 32, 32768, 128, device="cuda", dtype=torch.bfloat16)
        with Operators() as seen:
            result = torch.nn.functional.scaled_dot_product_attention(q, q, q)
    scores = seen.made["aten._safe_softmax.default"]
    print(f"{type(around).__name__}: softmax of {scores:,} bytes, the result has {result.nbytes:,}")
    assert scores == 512 * result.nbytes and not any("flash" in name for name in seen.made)
PY
"$folder/venv/bin/python" "$folder/fake.py"
echo "as stated"
