"""What is said of published runs, in Python as in `data/words.mjs`, tested equal: their names, a size read off, what is odd about a run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from helpers.nccl.published import Published
from helpers.units import bandwidth_text, nbytes_text, seconds_text
from helpers.view.shared.words import counted, listed

LETTERS = "ABC"
BY = {  # who published a table, in a word
    "nccl-tests-six-gpus-timings": "aiconfigurator",
    "nccl-tests-4xh100-all_reduce": "dudeperf3ct",
    "torch-4xh100-all_reduce": "dudeperf3ct",
    "nccl-tests-8xa100-all_reduce": "Stas Bekman",
    "torch-8xh200-all_reduce": "Stas Bekman",
    "nccl-tests-h200-b200-nvls": "Stas Bekman",
    "nccl-tests-8xh200-collectives": "Stas Bekman, 16 GiB",
    "nccl-tests-8xa100-latency": "nccl-tests issue 123",
}
MARK = "†"


def ran(run: Published) -> str:
    """ "NCCL 2.29.2 † of aiconfigurator", with what was set."""
    version = f"NCCL {run.loaded}" if run.loaded else "NCCL not stated"
    folder = f" {MARK} folder {run.folder}" if run.named_otherwise else ""
    by_folder = " by its folder" if run.version is None and run.folder else ""
    return ", ".join(
        part for part in (f"{version}{by_folder}{folder}", BY[run.table] if not run.folder else "", run.setting) if part
    )


def name(run: Published) -> str:
    """ "all_reduce on 4 B200, half, NCCL 2.27.5"."""
    dtype = f", {run.dtype}" if run.dtype else ""
    return f"{run.collective} on {run.nranks} {run.gpu}{dtype}, {ran(run)}"


def reading(runs: Sequence[Published], at: int) -> str:
    """What a call of `at` bytes takes in each."""
    said, told = [], False
    for letter, run in zip(LETTERS, runs, strict=False):
        if at not in run.sizes:
            said.append(f"{letter} was not measured there")
            continue
        i, of = run.sizes.index(at), "" if told else " busbw, one way per GPU"
        said.append(f"{letter} {seconds_text(run.seconds[i])} ({bandwidth_text(run.busbw[i])}{of})")
        told = True
    return f"A call of {nbytes_text(at)}: {listed(said)}."


def percent(share: float) -> str:
    """A share as whole per cent, "under 1 %" below a half."""
    whole = math.floor(100 * share + 0.5)
    return f"{whole} %" if whole else "under 1 %"


def misses(run: Published) -> float | None:
    """The model's largest relative error."""
    if run.model is None:
        return None
    pairs = zip(run.model, run.seconds, strict=True)
    return max(abs(model.nanoseconds / 1e9 / second - 1) for model, second in pairs)


def summary(run: Published) -> str:
    """From which size to which, how often, the most busbw, and how far model and line are off at worst."""
    n, first, last = len(run.sizes), nbytes_text(run.first), nbytes_text(run.sizes[-1])
    span = f"one size, {first}" if n == 1 else f"{n} sizes, {first} to {last}"
    repeats = max(map(len, run.times))
    often = f", up to {counted(repeats, 'time', 'times')} each" if repeats > 1 else ""
    most = f"at most {bandwidth_text(max(run.busbw))} busbw, one way per GPU"
    model, line = misses(run), run.line
    off = "" if model is None else f"; NCCL's model misses by {percent(model)} at worst"
    off += "" if line is None else f"{', a line' if off else '; a line misses'} by {percent(line[2])}"
    return f"{span}{often}; {most}{off}."


def oddity(run: Published) -> str:
    """What a reader has to know before trusting it; empty where there is nothing."""
    if run.named_otherwise:
        return (
            f"{MARK} The rows state NCCL {run.version}, the folder that they lie in says {run.folder}. We take the rows' word. Where a"
            " version changed NCCL's choice, it can be checked: all_reduce of 8 MiB on 4 B200 keeps time with folder 2.29.2."
        )
    if run.version is None and run.folder:
        return "The rows state no version: the folder's is taken."
    if run.worked_out:
        return "Published as bandwidths: the times are worked out from them, with as few digits."
    return ""
