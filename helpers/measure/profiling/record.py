"""The traces of memory that the book replays: `python -m helpers.measure record [names]` writes recorded/memory/<name>.json.

Predictions are the same on every machine; what was tracked says on which machine and when. Chapters: training-memory, too-big.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from helpers.measure.predict.predict import predict_step
from helpers.memory import Trace, pack
from helpers.parallel.zero.recorded import sharded_traces
from helpers.ranks.recorded import machine, versions
from helpers.units import GIB, MIB

from .stages import profile_step

FOLDER = Path(__file__).resolve().parents[3] / "recorded" / "memory"
ARTICLE = {"batch": 32, "seq": 128}  # 4,096 tokens, the article's 8 MiB of input
LONG = {"batch": 1, "seq": 4096}
TRACES: dict[str, Callable[[], Trace]] = {
    "article-cpu": lambda: profile_step(**ARTICLE, optimizer="adam", device="cpu").trace,
    "article-meta": lambda: profile_step(**ARTICLE, optimizer="adam", device="meta").trace,
    "article-cuda-like": lambda: profile_step(**ARTICLE, optimizer="adamw-foreach", like_cuda=True).trace,
    "llama-2-7b": lambda: predict_step("Llama-2-7B", **LONG).trace,
    "llama-2-7b-full": lambda: predict_step("Llama-2-7B", **LONG, checkpoint="full").trace,
    "llama-2-70b": lambda: predict_step("Llama-2-70B", **LONG).trace,
}
RANKS = ("ddp", "zero-1", "zero-2", "zero-3")  # real ranks, a trace for each
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


def write_traces(name: str, traces: Sequence[Trace], command: str, folder: Path = FOLDER) -> Path:
    """Write the traces of one run, a rank each, as recorded/memory/<name>.json; the path.

    The file holds the packed traces (data.ranks), and for each rank its peak and stages (data.peaks, data.stages: bytes, mib, gib),
    with machine, versions, date and command. ValueError for a name that is not like "llama-2-7b", no trace, or a trace without events.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f'a recorded trace is named like "llama-2-7b" (small letters, digits, hyphens), got {name!r}')
    if not traces or not all(len(trace) for trace in traces):
        raise ValueError(
            f"{name}: expected at least one trace, each with events, got {[len(t) for t in traces]} events"
        )
    held = {
        "name": name,
        "label": str(traces[0].about.get("label", name)),
        "machine": machine(),
        "versions": versions(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "command": command,
        "data": {
            "peaks": [_peak(trace) for trace in traces],
            "stages": [[_stage(told, nbytes) for _, told, nbytes in trace.marks] for trace in traces],
            "ranks": [pack(trace) for trace in traces],
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(held, separators=(",", ":")) + "\n", encoding="utf-8")
    return path


def _stage(name: str, nbytes: int) -> dict:
    return {"name": name, "bytes": nbytes, "mib": nbytes / MIB, "gib": nbytes / GIB}


def _peak(trace: Trace) -> dict:
    peak = trace.peak
    sizes = {"bytes": peak.nbytes, "mib": peak.nbytes / MIB, "gib": peak.nbytes / GIB}
    return {**sizes, "event": peak.index, "phase": peak.phase, "module": peak.module, **peak.by_class}


def main(given: Sequence[str] = ()) -> int:
    """Record the named traces, or all; a line each. The exit code: 2 for a name that is not known."""
    there = (*TRACES, *RANKS)
    if unknown := [name for name in given if name not in there]:
        print(f"python -m helpers.measure record: no trace {unknown[0]!r}; there are: {', '.join(there)}")
        return 2
    for name in given or there:
        traces = [TRACES[name]()] if name in TRACES else sharded_traces(name)
        path = write_traces(name, traces, f"python -m helpers.measure record {name}")
        trace = traces[0]
        print(f"{name}: {len(trace):,} events, peak {trace.peak.nbytes / GIB:.2f} GiB, {path.stat().st_size:,} bytes")
    return 0
