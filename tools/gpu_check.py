"""What CI cannot check: ranks on this machine's GPUs, in under ten minutes. Needs only what floor 3 of `helpers` needs.

    python -m tools.gpu_check [--backend nccl|gloo] [--ranks N] [--out recorded] [--only WORDS]

Prints a table and writes gpu-check.json, gpu-ladder.json, gpu-roofline.json, gpu-memory-*.json and memory/gpu-*.json, and where each
rank has a GPU, gpu-bandwidth.json and gpu-trace-*.json. A check that fails or hangs is reported, and the next one runs. Ends with 1
when a check failed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

from helpers.measure.profiling.record import write_traces
from helpers.memory import unpack
from helpers.ranks import recorded
from helpers.ranks.machine.devices import check_nranks, plan
from helpers.ranks.machine.gpus import find_gpus
from helpers.units import seconds_text
from tools.gpu.checks import CHECKS, Check
from tools.gpu.place import ROOT, Place

BUDGET = 570.0  # seconds for everything; checks that would begin later are reported as not run
BULK = ("record", "traces")  # figures that go into files of their own: by name, data, and packed traces of memory
WIDTH = max(len(check.name) for check in CHECKS) + 2


class Server:
    """The process that runs the checks; a new one after a check that hung."""

    def __init__(self, place: Place, module: str = "tools.gpu.checks"):
        self.place, self.module, self.process = place, module, None

    def ask(self, check: Check) -> dict:
        """The check's answer, or what happened instead."""
        if self.process is None:
            self._start()
        with contextlib.suppress(OSError):  # it has ended: the answer below says so
            self.process.stdin.write(f"{check.name}\n")
            self.process.stdin.flush()
        line = self._line(check.deadline)
        if line:
            return json.loads(line)
        hung = f"hung: stopped after {check.deadline:g} s"
        why = hung if line is None else f"its process ended (code {self.process.wait()})"
        self.stop()
        return {"outcome": "failed", "why": why, "seconds": check.deadline if line is None else 0.0}

    def _start(self) -> None:
        arguments = [self.module, self.place.backend, str(self.place.nranks), str(self.place.gpus)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tools.gpu.serve", *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that it can be stopped with everything it started
        )

    def _line(self, limit: float) -> str | None:
        """A line, "" at the end of the process, None when `limit` seconds are over."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            return self.process.stdout.readline() if selector.select(limit) else None

    def stop(self) -> None:
        """End it and everything it started."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process = None


def run(place: Place, checks: list[Check], module: str = "tools.gpu.checks") -> dict[str, dict]:
    """Every check's answer, printed as it comes. module: where the process that runs them finds them by name."""
    server, answers, began = Server(place, module), {}, time.monotonic()
    try:
        for check in checks:
            why = check.skipped(place)
            if why:
                answers[check.name] = {"outcome": "skipped", "why": why}
            elif time.monotonic() - began > BUDGET - check.deadline and len(answers):
                answers[check.name] = {"outcome": "failed", "why": "not run: no time was left"}
            else:
                answers[check.name] = server.ask(check)
            print(row(check.name, answers[check.name]), flush=True)
    finally:
        server.stop()
    return answers


def row(name: str, answer: dict) -> str:
    """One line of the table: the check, its outcome, its figures or the reason."""
    said = answer.get("why") or ", ".join(_figure(k, v) for k, v in answer.get("figures", {}).items() if k not in BULK)
    return f"{name.ljust(WIDTH)}{answer['outcome'].ljust(9)}{' '.join(said.split())}".rstrip()


def _figure(name: str, value: object) -> str:
    if isinstance(value, float):
        return f"{name} {value:+.1%}" if name == "share" else f"{name} {seconds_text(value)}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return f"{name} {max(line['busbw'] for line in value) / 1e9:.1f} GB/s busbw"
    if isinstance(value, dict) and "messages" in value:
        return f"{name} {seconds_text(value['seconds'])}"
    if isinstance(value, (dict, list)):
        return f"{name} {json.dumps(value)}"
    return f"{name} {value}"


def write(answers: dict[str, dict], label: str, command: str, out: Path) -> None:
    """The measured parts, with machine, versions and date."""
    recorded.FOLDER = out
    traces = answers.get("traces of real runs", {}).pop("figures", {})
    data, memory = (
        {k: v for a in answers.values() for k, v in a.get("figures", {}).pop(bulk, {}).items()} for bulk in BULK
    )
    recorded.record("gpu-check", answers, command, label)
    for name, found in data.items():
        recorded.record(f"gpu-{name}", found, command, label)
    for name, packed in memory.items():
        write_traces(f"gpu-{name}", [unpack(packed)], command, out / "memory")
    for name, run in traces.items():
        recorded.record(f"gpu-{name}", run, command, label)
    if figures := answers.get("bandwidth", {}).get("figures"):
        recorded.record("gpu-bandwidth", figures, command, label)


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
    return Place(backend, nranks, len(gpus.usable) if backend == "nccl" else 0)


def main(argv: list[str] | None = None) -> int:
    """0: all passed or skipped; 1: a check failed; 2: nothing could be checked."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.gpu_check", description="Check ranks on this machine's GPUs."
    )
    parser.add_argument("--backend", choices=("nccl", "gloo"), help="default: nccl; gloo tries the checks on the CPU")
    parser.add_argument("--ranks", type=int, help="default: one per GPU, two on one GPU")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "recorded", help="folder of the JSON files (default: recorded)"
    )
    parser.add_argument("--only", default="", help="checks whose name has these words")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore", RuntimeWarning)  # what cannot be used is said by the error below, and in the label
    try:
        place = place_for(options.backend, options.ranks)
        label = plan(place.nranks, place.backend).label
    except ValueError as error:
        print(f"gpu-check: {error}", file=sys.stderr)
        return 2
    print(label, flush=True)
    answers = run(place, [check for check in CHECKS if options.only in check.name])
    counts = {kind: sum(a["outcome"] == kind for a in answers.values()) for kind in ("passed", "failed", "skipped")}
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    write(answers, label, f"python -m tools.gpu_check --backend {place.backend} --ranks {place.nranks}", options.out)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
