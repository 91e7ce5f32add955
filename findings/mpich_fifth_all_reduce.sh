#!/usr/bin/env bash
# mpich 5.0.2: has the same all_reduce of the same numbers the same bits every time, on one communicator of four ranks?
# Expected: yes. The standard asks for it ("strongly recommended ... the same result whenever the function is applied on the same
# arguments, appearing in the same order"), and nothing about the call, the ranks or the machine changes between the calls.
# Seen: calls 1 to 4 agree, and from the fifth on the sum has other bits: then MPICH has made shared memory for the communicator, and adds
# in another order. With MPI_THREAD_MULTIPLE, which mpi4py asks for unless told otherwise, all eight agree.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mpich==5.0.2 mpi4py==4.1.2 numpy==2.4.6
cat > "$folder/sums.py" <<'PY'
import sys

import mpi4py

mpi4py.rc.threads = sys.argv[1] == "threads"
import numpy as np
from mpi4py import MPI

ranks = MPI.COMM_WORLD
rng = np.random.default_rng(ranks.rank)
mine = (rng.standard_normal(1000) * 10.0 ** rng.integers(-6, 7, 1000)).astype(np.float32)
sums = []
for _ in range(8):
    whole = np.empty_like(mine)
    ranks.Allreduce(mine, whole)
    sums.append(whole.tobytes())
if ranks.rank == 0:
    first = [sums.index(one) + 1 for one in sums]
    print(f"{sys.argv[1]}: call 1 to 8 has the bits of call {first}")
    assert first == ([1] * 8 if sys.argv[1] == "threads" else [1] * 4 + [5] * 4)
PY
for how in plain threads; do "$folder/venv/bin/mpiexec" -n 4 "$folder/venv/bin/python" "$folder/sums.py" "$how"; done
echo "as stated"
