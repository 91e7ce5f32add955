#!/usr/bin/env bash
# jax 0.10.2, XLA on four devices: what does an MLP move whose gate and up are one matrix, cut by columns, and whose down is cut by rows?
# Expected: one all_reduce behind down, as with gate and up in two matrices: a device multiplies the columns that it has.
# Seen: four collective-permutes more. The first two devices hold all of gate and the last two all of up, so half of each product has to move
# before the two meet. With the columns of gate and up in turn nothing moves but the all_reduce.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat > "$folder/fused.py" <<'PY'
import re
from collections import Counter

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

mesh = jax.make_mesh((4,), ("t",), axis_types=(jax.sharding.AxisType.Auto,))


def lies(shape, *cuts):
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, PartitionSpec(*cuts)))


def two(x, gate, up, down):
    return (jax.nn.silu(x @ gate) * (x @ up)) @ down


def fused(x, both, down):
    gate, up = jnp.split(x @ both, 2, axis=1)
    return (jax.nn.silu(gate) * up) @ down


def in_turn(x, both, down):
    pairs = (x @ both).reshape(8, 32, 2)
    return (jax.nn.silu(pairs[..., 0]) * pairs[..., 1]) @ down


def collectives(function, *given):
    whole = NamedSharding(mesh, PartitionSpec())
    text = jax.jit(function, out_shardings=whole).lower(*given).compile().as_text()
    return dict(Counter(re.findall(r" = \S+ (all-\w+|collective-\w+|reduce-scatter)\(", text)))


x, half, both, down = lies((8, 16)), lies((16, 32), None, "t"), lies((16, 64), None, "t"), lies((32, 16), "t", None)
seen = collectives(two, x, half, half, down), collectives(fused, x, both, down), collectives(in_turn, x, both, down)
print("two matrices, one matrix, columns in turn:", *seen)
assert seen == ({"all-reduce": 1}, {"all-reduce": 1, "collective-permute": 4}, {"all-reduce": 1})
PY
XLA_FLAGS=--xla_force_host_platform_device_count=4 "$folder/venv/bin/python" "$folder/fused.py"
echo "as stated"
