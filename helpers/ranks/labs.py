"""What a lab ran on, and the record that it came to its end there. Page: recorded-runs."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import torch

from helpers.records.labs import GPUS, RANKS

from . import recorded
from .machine.devices import find_gpus
from .machine.nranks import NAME, WITHOUT
from .pool.ranks import STARTED

QUIET = 0.25  # the share of the processors that other programs may take while a lab's minutes are measured


def ran_on() -> str:
    """What this process has computed on so far: the labels of its ranks, and its own GPU; else "1 process, CPU"."""
    own = [f"1 process, {torch.cuda.get_device_name()}"] if torch.cuda.is_initialized() else []
    return "; ".join([*STARTED, *own]) or "1 process, CPU"


def record_lab(
    lab: str, label: str, data: dict[str, float], command: str, folder: Path, busy: float | None = None
) -> str:
    """Write <lab>-<GPUs here>.json into the folder; returns a line that says so, or why there is none.

    Where NRANKS says how many ranks, and no GPU is here: <lab>-<NRANKS>ranks.json, from whose seconds the lab's card says its minutes.
    label: of `ran_on`. data: cells, seconds. busy: the share that `others` took, for the second kind; None: nobody looked.
    Raises ValueError where the lab's name cannot be a record's.
    """
    number, count = os.environ.get(NAME), len(find_gpus().usable)
    if why := _no_minutes(number, count, label, busy) if number else _no_column(count):
        return f"no record: {why}"
    run = recorded.record(f"{lab}-{number}ranks" if number else f"{lab}-{count}", data, command, label, folder)
    return f"recorded as {run.name}: {label}"


def others() -> float:
    """The share of all processors that programs take at this moment, this one standing still: a second's look."""
    return psutil.cpu_percent(interval=1.0) / 100


def _no_column(count: int) -> str:
    if count in GPUS:
        return ""
    return f"{count} GPUs have no column (only {', '.join(map(str, GPUS))}; see CUDA_VISIBLE_DEVICES)"


def _no_minutes(number: str, count: int, label: str, busy: float | None) -> str:
    """Why no card can tell these seconds, "" where one can."""
    if count:
        return f"NRANKS is {number}, and with GPUs a record is of what the machine has"
    if number not in map(str, RANKS):
        return f"NRANKS is {number}, and cards tell the minutes of {', '.join(map(str, RANKS))} ranks"
    if "rank" not in label and number != str(WITHOUT):
        return f"this lab starts no ranks, so its minutes are taken with NRANKS={WITHOUT} alone"
    if recorded.shown() or busy is None:
        return "what this lab measures was cut short (python -m tools.labs measures all)"
    return f"other programs took {busy:.0%} of the processors" if busy > QUIET else ""
