"""Any steps under torch's profiler, as the trace's bytes. Chapter: reading-a-trace."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, record_function

# The others name the machine, or a folder.
KEYS = "schemaVersion", "deviceProperties", "distributedInfo", "displayTimeUnit"
CATEGORIES = "cpu_op", "user_annotation"
TALKING = "Input Dims", "Input type"
QUIET = "KINETO_LOG_LEVEL", "99"  # else kineto says on stderr that it starts and stops


def traced(step: Callable[[], object], nsteps: int = 1) -> bytes:
    """On every rank: nsteps calls of `step`, each marked as a step of the profiler. The trace as kineto writes it, packed by gzip.

    All ranks meet when their profilers run: starting one takes a rank up to a second, and another one less.
    """
    os.environ.setdefault(*QUIET)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as seen:
            dist.barrier()
            for k in range(nsteps):
                with record_function(f"ProfilerStep#{k}"):
                    step()
        seen.export_chrome_trace(str(path))
        return gzip.compress(path.read_bytes(), mtime=0)


def kept(packed: bytes, **about: Any) -> bytes:
    """What of such a trace is recorded: operators and marks that lie inside its steps; `about` stands in it as "recorded".

    Times are left as they were written. ValueError for a trace without a step.
    """
    data = json.loads(gzip.decompress(packed))
    rows = [row for row in data["traceEvents"] if row.get("ph") == "X" and row.get("cat") in CATEGORIES]
    marks = [row for row in rows if row["name"].startswith("ProfilerStep#")]
    if not marks:
        raise ValueError("no step in this trace: expected a mark ProfilerStep#0")
    first, last = min(row["ts"] for row in marks), max(row["ts"] + row["dur"] for row in marks)
    inside = [_plain(row) for row in rows if first <= row["ts"] and row["ts"] + row["dur"] <= last]
    found = {"recorded": about} | {key: data[key] for key in KEYS if key in data} | {"traceEvents": inside}
    return gzip.compress(json.dumps(found, separators=(",", ":")).encode(), mtime=0)


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Of an operator its name and times; of a call of Gloo also what it sent."""
    args = {key: row["args"][key] for key in TALKING if key in row.get("args", {}) and row["name"].startswith("gloo:")}
    plain = {key: row[key] for key in ("ph", "cat", "name", "pid", "tid", "ts", "dur")}
    return plain | ({"args": args} if args else {})
