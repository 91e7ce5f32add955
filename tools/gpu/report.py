"""What was found, on paper: a row of the table for each check, the JSON files, written again after each, and all of them in one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from helpers.measure.profiling.record import write_traces
from helpers.memory import unpack
from helpers.ranks import recorded
from helpers.records.packed import pack
from helpers.units import seconds_text

from .checks import CHECKS
from .nameless import nameless, run_name

# Figures that go into files of their own: by name, data, and packed traces of memory; "on": what these are of, where it is no ranks
BULK = ("record", "traces", "on")
WIDTH = max(len(check.name) for check in CHECKS) + 2


class Report:
    """The files of one run, in the folder `out`. Whoever ends us leaves what was found until then."""

    def __init__(self, label: str, command: str, out: Path):
        self.label, self.command, self.out = label, command, out
        self.written: set[Path] = set()

    def write(self, answers: dict[str, dict], latest: str) -> None:
        """gpu-check.json anew, and what the check `latest` has for files of its own: that leaves `answers`."""
        figures = answers[latest].get("figures", {})
        label = figures.pop("on", self.label)
        for name, data in figures.pop("record", {}).items():
            self._record(f"gpu-{name}", data, label)
        for name, packed in figures.pop("traces", {}).items():
            trace = unpack(nameless(packed))
            self.written.add(write_traces(f"gpu-{name}", [trace], self.command, self.out / "memory"))
        if latest == "traces of real runs":
            for name in list(figures):
                self._record(f"gpu-{name}", figures.pop(name))
        if latest == "bandwidth" and figures:
            self._record("gpu-bandwidth", figures)
        self._record("gpu-check", answers)

    def _record(self, name: str, data: object, label: str | None = None) -> None:
        recorded.record(name, nameless(data), self.command, label or self.label, self.out)
        self.written.add(self.out / f"{name}.json")

    def pack(self, gpus: Sequence[str]) -> Path | None:
        """run-8xh100.json.gz with all that this run wrote, beside it; None of nothing. gpus: names of those it ran on."""
        return pack(sorted(self.written), self.out, run_name(gpus)) if self.written else None


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
