#!/usr/bin/env bash
# torch-tb-profiler 0.4.3: how much communication does it see in a step that multiplies for 300 µs and then gathers by NCCL for 500 µs?
# Expected: about 500 µs, whichever collective it is: the kernel is NCCL's, and torch's mark round its launch says "nccl:".
# Seen: of an all_reduce 520 (the mark's own 20 µs count too); of "nccl:_all_gather_base" and "nccl:_reduce_scatter_base", all that FSDP
# sends, and of an all_to_all none: five names are known, every other kernel is computation, so FSDP's step seems to compute for 800 µs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch-tb-profiler==0.4.3 pandas==2.3.3 tensorboard==2.20.0
cat > "$folder/step.py" <<'PY'
import json
import logging
import sys

logging.disable()
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.overall_parser import ProfileRole


def seen(mark, kernel):
    """A step of one rank, as kineto writes it: a product and a collective, each launched by an operator of its own."""
    events = []

    def event(cat, name, ts, dur, pid, tid, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, "args": args})

    event("user_annotation", "ProfilerStep#1", 0, 1000, 1, 1, **{"External id": 1})
    event("cpu_op", "aten::mm", 10, 20, 1, 1, **{"External id": 2})
    event("user_annotation", mark, 50, 20, 1, 1, **{"External id": 3})
    for number, name, start, lasts in ((2, "gemm", 100, 300), (3, kernel, 400, 500)):
        both = {"External id": number, "correlation": number}
        event("cuda_runtime", "cudaLaunchKernel", number * 20 - 20, 5, 1, 1, **both)
        event("kernel", name, start, lasts, 0, number, device=0, stream=number, **both)
    path = f"{sys.argv[1]}/trace.json"
    with open(path, "w") as file:
        about = {"backend": "nccl", "rank": 0, "world_size": 2}
        json.dump({"schemaVersion": 1, "distributedInfo": about, "traceEvents": events}, file)
    run = RunProfileData.parse("rank0", "0", path, sys.argv[1])
    run.process()
    return tuple(int(run.avg_costs.costs[role]) for role in (ProfileRole.Kernel, ProfileRole.Communication))


found = {
    "nccl:all_reduce": seen("nccl:all_reduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
    "nccl:_all_gather_base": seen("nccl:_all_gather_base", "ncclDevKernel_AllGather_RING_LL"),
    "nccl:_reduce_scatter_base": seen("nccl:_reduce_scatter_base", "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL"),
    "nccl:all_to_all": seen("nccl:all_to_all", "ncclDevKernel_SendRecv"),
}
for mark, (kernels, communication) in found.items():
    print(f"{mark}: kernels {kernels} µs, communication {communication} µs")
assert list(found.values()) == [(300, 520)] + [(800, 0)] * 3
PY
"$folder/venv/bin/python" "$folder/step.py" "$folder"
echo "as stated"
