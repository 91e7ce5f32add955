#!/usr/bin/env bash
# HolisticTraceAnalysis 0.5.0: how long does a GPU compute that runs a thousand kernels of 1.9 µs each?
# Expected: 1,900 µs. torch's profiler has written times to the nanosecond since 2.3, and nothing overlaps.
# Seen: 1,000 µs. Begins and durations are cut to whole microseconds before they are added up, and the rest of every kernel counts as
# idle. A log line says "Rounding down ns resolution events"; HTA_DISABLE_NS_ROUNDING=1 in the environment gives 1,900.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check HolisticTraceAnalysis==0.5.0
cat > "$folder/short.py" <<'PY'
import json
import logging
import sys

logging.disable()
from hta.trace_analysis import TraceAnalysis

about = {"device": 0, "context": 1}
events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 0.0, "dur": 5.0, "pid": 1, "tid": 1, "args": {"External id": 1}}]
for place in range(1000):
    ids = {"External id": 1, "correlation": place + 1}
    launch = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": place + 0.5, "dur": 0.3, "pid": 1, "tid": 1}
    kernel = {"cat": "kernel", "name": "gemm", "ts": 2000 + 2.5 * place, "dur": 1.9, "pid": 0, "tid": 7}
    events += [{"ph": "X", **launch, "args": ids}, {"ph": "X", **kernel, "args": {**ids, **about, "stream": 7}}]
path = f"{sys.argv[1]}/trace.json"
with open(path, "w") as file:
    json.dump({"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": events}, file)
times = TraceAnalysis(trace_files={0: path}).get_temporal_breakdown(visualize=False).iloc[0]
print(f"computes {times['compute_time(us)']:g} µs, idle {times['idle_time(us)']:g} µs")
PY
HTA_DISABLE_NS_ROUNDING=1 "$folder/venv/bin/python" "$folder/short.py" "$folder" | grep computes | tee "$folder/exact"
"$folder/venv/bin/python" "$folder/short.py" "$folder" | grep computes | tee "$folder/default"
grep -q "computes 1900 " "$folder/exact" && grep -q "computes 1000 " "$folder/default"
echo "as stated"
