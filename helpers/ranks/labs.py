"""What a lab ran on, and the record that it came to its end there. Page: recorded-runs."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from helpers.records.labs import GPUS

from . import recorded
from .machine.devices import find_gpus
from .pool.ranks import STARTED


def ran_on() -> str:
    """What this process has computed on so far: the labels of its ranks, and its own GPU; else "1 process, CPU"."""
    own = [f"1 process, {torch.cuda.get_device_name()}"] if torch.cuda.is_initialized() else []
    return "; ".join([*STARTED, *own]) or "1 process, CPU"


def record_lab(lab: str, label: str, data: dict[str, float], command: str, folder: Path) -> str:
    """Write <lab>-<GPUs here>.json into the folder; returns a line that says so, or why there is none.

    label: of `ran_on`. data: cells, seconds. Raises ValueError where the lab's name cannot be a record's.
    """
    if number := os.environ.get("NRANKS"):
        return f"no record: NRANKS is {number}, and a record is of what the machine has"
    if (count := len(find_gpus().usable)) not in GPUS:
        return f"no record: {count} GPUs have no column (only {', '.join(map(str, GPUS))}; see CUDA_VISIBLE_DEVICES)"
    run = recorded.record(f"{lab}-{count}", data, command, label, folder)
    return f"recorded as {run.name}: {label}"
