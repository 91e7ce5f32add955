#!/usr/bin/env bash
# jax 0.10.2, XLA for CPUs: in which type does a gathered bf16 array travel between devices, by the compiled program?
# Expected: in bf16. A gather only moves bits, and the program's text is where one counts the bytes of a layout without having GPUs.
# Seen: in f32, and float8_e4m3fn in f16: XLA for CPUs widens what its backend has no instructions for, and gathers what it widened. Both
# tell twice the bytes that the same layout sends on an accelerator. (A sum, too.) 0.12.0.1 does the same.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2
cat > "$folder/gather.py" <<'PY'
import re

import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

mesh = jax.make_mesh((8,), ("rank",), axis_types=(AxisType.Auto,))
whole, cut = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("rank"))
found = {}
for dtype in ("float32", "bfloat16", "float8_e4m3fn"):
    x = jax.device_put(jax.numpy.ones((8, 1024), dtype), cut)
    text = jax.jit(lambda x: jax.lax.with_sharding_constraint(x, whole)).lower(x).compile().as_text()
    (found[dtype],) = re.findall(r"= (\w+)\[8,1024\]\S* all-gather\(", text)
print(found)
assert found == {"float32": "f32", "bfloat16": "f32", "float8_e4m3fn": "f16"}
PY
XLA_FLAGS=--xla_force_host_platform_device_count=8 "$folder/venv/bin/python" "$folder/gather.py"
echo "as stated"
