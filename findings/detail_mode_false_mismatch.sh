#!/usr/bin/env bash
# torch 2.13.0, Gloo: does TORCH_DISTRIBUTED_DEBUG=DETAIL accept a program in which two of four ranks exchange one message?
# Expected: yes. All ranks make the same collectives in the same order, and a send with its receive is none.
# Seen: DETAIL raises "Detected mismatch between collectives on ranks" at the all_reduce behind the message: it compares sequence numbers,
# and a send or receive raises that of the two ranks alone. Without DETAIL the program ends and its sums are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > "$folder/message.py" <<'PY'
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def rank(number, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=4)
    x = torch.ones(1)
    dist.all_reduce(x)
    if number == 0:
        dist.send(x, 1)
    if number == 1:
        dist.recv(x, 0)
    try:
        dist.all_reduce(x)
        said = f"sum {x.item():g}"
    except RuntimeError as error:
        said = "mismatch" if "Detected mismatch between collectives" in str(error) else f"another error: {error}"
    with open(f"{store}.said.{number}", "w") as file:
        file.write(said)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(rank, (sys.argv[1],), nprocs=4)
PY
"$folder/venv/bin/python" "$folder/message.py" "$folder/plain"
TORCH_DISTRIBUTED_DEBUG=DETAIL "$folder/venv/bin/python" "$folder/message.py" "$folder/detail"
plain=$(cat "$folder/plain.said.0") detail=$(cat "$folder/detail.said.0")
echo "plain: $plain; DETAIL: $detail"
test "$plain" = "sum 16" && test "$detail" = "mismatch"
echo "as stated"
