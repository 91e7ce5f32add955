"""gpu-check itself: what to run here, in which order, for how long, and what is left when time is over.

Prints an estimate, a table, a line that lives while a check runs, and an ending in words. Writes after every check: gpu-check.json,
gpu-ladder.json, gpu-roofline.json, gpu-memory-*.json and memory/gpu-*.json, gpu-sweep-one-gpu.json, and where each rank has a GPU,
gpu-bandwidth.json, gpu-trace-*.json, gpu-sweep-*.json and gpu-processes.json; at the end all of them in one, run-8xh100.json.gz.
A check that fails or hangs is reported, and the next one runs.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from helpers.ranks.machine.devices import plan
from helpers.ranks.machine.gpus import find_gpus
from helpers.ranks.machine.nranks import check_nranks
from helpers.records import RecordError
from tools import progress

from .checks import CHECKS, Check
from .ending import ending
from .place import ROOT, Place, nccl_files
from .report import Report, row
from .server import Server

BUDGET = 570.0  # seconds for everything
WAITING = {"outcome": "not run", "why": "it was not its turn yet"}
OUTCOMES = ("passed", "failed", "skipped", "not run")


def estimate(place: Place, checks: list[Check]) -> str:
    """Seconds that everything should take here, and the checks that would not fit."""
    seconds, late = 0.0, []
    for check in checks:
        if not check.skipped(place):
            seconds += (takes := check.takes(place))
            if seconds > BUDGET:
                seconds -= takes
                late.append(check.name)
    gpus = f"{place.gpus} GPU{'s' * (place.gpus != 1)}" if place.gpus else "the CPU"
    rest = f"; no time is left for: {', '.join(late)}" if late else ""
    return f"about {seconds:.0f} s of {BUDGET:.0f} on {gpus}{rest}"


def run(
    place: Place,
    checks: list[Check],
    module: str = "tools.gpu.checks",
    note: Callable[[dict, str], None] | None = None,
    log: IO[str] | None = None,
) -> dict[str, dict]:
    """Every check's answer, printed as it comes. module: where the process that runs them finds them by name. log: for what they print.

    note: called after every check with all answers and the check's name; those to come are in them as not run.
    """
    server, began = Server(place, module, log), time.monotonic()
    answers = {check.name: dict(WAITING) for check in checks}
    try:
        for number, check in enumerate(checks):
            answers[check.name] = _answer(server, checks, number, BUDGET - (time.monotonic() - began))
            progress.clear()
            print(row(check.name, answers[check.name]), flush=True)
            if note:
                note(answers, check.name)
    finally:
        server.stop()
    return answers


def _answer(server: Server, checks: list[Check], number: int, left: float) -> dict:
    check = checks[number]
    if why := check.skipped(server.place):
        return {"outcome": "skipped", "why": why}
    if (takes := check.takes(server.place)) > left:
        return {"outcome": "not run", "why": f"{max(left, 0):.0f} s are left, and it takes about {takes:.0f}"}
    progress.show(living(server.place, checks, number, 0.0), steady=True)
    return server.ask(
        check, min(check.deadline, left), lambda s: progress.show(living(server.place, checks, number, s))
    )


def living(place: Place, checks: list[Check], number: int, seconds: float) -> str:
    """The line while checks[number] runs, `seconds` after its begin: its name, and what should be left of all."""
    rest = sum(check.takes(place) for check in checks[number + 1 :] if not check.skipped(place))
    rest += max(checks[number].takes(place) - seconds, 0.0)
    left = f"{rest:.0f} s" if rest < 100 else f"{rest / 60:.0f} min"
    return f"{number + 1} of {len(checks)}  {checks[number].name}  {seconds:.0f} s; about {left} left"


def place_for(backend: str | None, nranks: int | None) -> Place:
    """NCCL on all GPUs, two ranks where there is one. Raises ValueError when NCCL is wanted and no GPU can be used."""
    if nranks is not None:
        check_nranks(nranks)
    gpus = find_gpus()
    backend = backend or "nccl"
    if backend == "nccl" and not gpus.usable:
        raise ValueError(
            f"no usable GPU here. {gpus.trouble}".rstrip() + " (--backend gloo runs the checks on the CPU)"
        )
    nranks = nranks or (max(2, len(gpus.usable)) if backend == "nccl" else 2)
    if nranks < 2:
        raise ValueError(f"the checks need 2 ranks or more, got {nranks}")
    return Place(backend, nranks, len(gpus.usable) if backend == "nccl" else 0, tuple(sorted(nccl_files())))


def options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.gpu_check", description="Check ranks on this machine's GPUs."
    )
    parser.add_argument("--backend", choices=("nccl", "gloo"), help="default: nccl; gloo tries the checks on the CPU")
    parser.add_argument("--ranks", type=int, help="default: one per GPU, two on one GPU")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "recorded", help="folder of the JSON files (default: recorded)"
    )
    parser.add_argument("--only", nargs="*", default=[""], help="checks whose name has one of these words")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """As tools.gpu_check.main."""
    asked = options(argv)
    warnings.simplefilter("ignore", RuntimeWarning)  # what cannot be used is said by the error below, and in the label
    try:
        place = place_for(asked.backend, asked.ranks)
        label = plan(place.nranks, place.backend).label
    except ValueError as error:
        print(f"gpu-check: {error}", file=sys.stderr)
        return 2
    checks = [check for check in CHECKS if any(words in check.name for words in asked.only)]
    print(label, estimate(place, checks), sep="\n", flush=True)
    report = Report(label, f"python -m tools.gpu_check --backend {place.backend} --ranks {place.nranks}", asked.out)
    gpus = find_gpus().names if place.gpus else ()
    try:
        with printing(asked.out) as log:
            answers = run(place, checks, note=report.write, log=log)
    finally:
        packed = _packed(report, gpus)
    counts = {kind: sum(a["outcome"] == kind for a in answers.values()) for kind in OUTCOMES}
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    if packed:
        print(ending(answers, packed))
    return 1 if counts["failed"] or counts["not run"] else 0


def _packed(report: Report, gpus: Sequence[str]) -> Path | None:
    try:
        return report.pack(gpus)
    except RecordError as error:
        print(f"gpu-check: the run is not packed into one file: {error}", file=sys.stderr)
        return None


@contextlib.contextmanager
def printing(out: Path) -> Iterator[IO[str] | None]:
    """On a terminal what checks print goes to out/gpu-check.log, and leaves the living line alone; else it goes where ours goes."""
    if not sys.stdout.isatty():
        yield None
        return
    out.mkdir(parents=True, exist_ok=True)
    with (out / "gpu-check.log").open("w") as log:
        yield log
    print(f"What the checks printed stands in {log.name}; it may name this machine, and is not part of the run.")
