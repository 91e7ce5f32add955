"""Measured runs, kept with the machine, versions, date and command that they came from. Chapters: ring, benchmarking.

A page may show only these. A notebook asks `measured_or_recorded`: a live reader sees their own run, a rebuild of the book the
recorded one, so that nothing on the page changes with the machine that builds it.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import torch

from helpers.meanwhile import aloud
from helpers.ranks.machine.devices import find_gpus
from helpers.ranks.pool.ranks import STARTED
from helpers.units import GIB

FOLDER = Path(__file__).resolve().parents[2] / "recorded"
SWITCH = "BYTES_IN_MOTION"  # unset: live; "recorded": show the recorded run; "record": measure and write it
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True)
class Run:
    """A measured run. source: "live" (this session) or "replay" (recorded). fresh: what was measured just now, in any case."""

    name: str
    data: Any
    label: str
    machine: dict[str, Any]
    versions: dict[str, str]
    date: str
    command: str
    source: str = "live"
    fresh: Any = field(default=None, repr=False)

    @property
    def nranks(self) -> int:
        """How many ranks it ran on, as its label says. ValueError where the label says none."""
        if not (found := _ran_on(self.label)):
            raise ValueError(f'the label of a run on ranks begins like "4 ranks, gloo", {self.name} has {self.label!r}')
        return int(found[0])

    @property
    def kind(self) -> str:
        """What a figure's `Curve` calls it: "measurement" or "recorded"."""
        return "measurement" if self.source == "live" else "recorded"

    def __str__(self) -> str:
        """One line for a caption: what it ran on, when, and whether it is this session's."""
        kind = "measured just now" if self.source == "live" else f"recorded {self.date}"
        return f"{self.label}; {self.machine['cpu']}, {self.machine['cores']} cores; torch {self.versions['torch']}; {kind}"


def record(name: str, data: Any, command: str, label: str, folder: Path | None = None) -> Run:
    """Write a run under recorded/<name>.json and return it. data: anything JSON can hold. command: how to repeat the run.

    label: what it ran on, as those say it who ran (`ranks.label`). folder: instead of recorded/.

    Raises ValueError for a name that is not like "ring-all-reduce", TypeError for data that JSON cannot hold.
    """
    path, run = _path(name, folder), _described(name, data, command, label)
    held = {key: value for key, value in asdict(run).items() if key not in ("source", "fresh")}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(held, indent=1) + "\n")
    return run


def load(name: str) -> Run:
    """The recorded run of that name. Raises FileNotFoundError naming those that exist."""
    path = _path(name)
    if not path.exists():
        there = ", ".join(sorted(p.stem for p in FOLDER.glob("*.json"))) or "none"
        raise FileNotFoundError(f"no recorded run {name!r} (there are: {there}); make it with {SWITCH}=record")
    return Run(**json.loads(path.read_text()), source="replay")


def measured_or_recorded(name: str, fn: Callable[[], Any], label: str, command: str | None = None) -> Run:
    """Run fn() and return its result as a Run; under BYTES_IN_MOTION=recorded the recorded run, with fn's result as .fresh.

    label: of the ranks that fn runs on. Under BYTES_IN_MOTION=record the result is written as the recorded run. ValueError for any
    other value of the variable, and, before fn is called, where the run to overwrite is of another number of ranks or another backend.
    """
    mode = os.environ.get(SWITCH, "")
    if mode not in ("", "recorded", "record"):
        raise ValueError(f'{SWITCH} is unset, "recorded" or "record", got {mode!r}')
    command = command or f"{SWITCH}=record make notebooks"
    if mode == "record":
        _refuse_another(name, label)
    run = load(name) if mode == "recorded" else None
    with aloud(f"measuring {name}"):
        fresh = _plain(fn())
    _refuse_what_did_not_run(name, label)
    if mode == "record":
        record(name, fresh, command, label)
        run = load(name)
    return replace(run or _described(name, fresh, command, label), fresh=fresh)


def shown() -> bool:
    """Whether pages show recorded runs: then a measurement is repeated for nobody, and need only be able to run."""
    return os.environ.get(SWITCH) == "recorded"


def machine() -> dict[str, Any]:
    """CPU, cores, memory and GPUs of this machine: nothing that names it or its user."""
    gpus = find_gpus().names
    return {
        "cpu": _cpu_model(),
        "cores": len(psutil.Process().cpu_affinity()) if hasattr(psutil.Process, "cpu_affinity") else os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / GIB),
        "gpus": list(gpus),
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Python, torch and, where torch has it, NCCL."""
    found = {"python": platform.python_version(), "torch": torch.__version__}
    if torch.version.cuda:
        found |= {"cuda": torch.version.cuda, "nccl": ".".join(map(str, torch.cuda.nccl.version()))}
    return found


def today() -> str:
    """The date of a run, "2026-11-24"."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _described(name: str, data: Any, command: str, label: str) -> Run:
    return Run(name, _plain(data), label, machine(), versions(), today(), command)


def _ran_on(label: str) -> tuple[str, ...]:
    """("4", "gloo") of "4 ranks, gloo, CPU"; () of a label that does not begin so."""
    found = re.match(r"(\d+) ranks?\b[^,]*, (\w+)", label)
    return found.groups() if found else ()


def _refuse_what_did_not_run(name: str, label: str) -> None:
    """A caption that names four ranks of Gloo, whatever ran, is true on one machine only."""
    if (says := _ran_on(label)) and says not in map(_ran_on, STARTED):
        ran = "; ".join(STARTED) or "no ranks"
        raise ValueError(f"the run {name!r} says {label!r}, but here ran: {ran}. Give it the `label` of its ranks")


def _refuse_another(name: str, label: str) -> None:
    """Pages say in words what a run is of: on other ranks it is another run."""
    if _path(name).exists() and _ran_on(there := load(name).label) != _ran_on(label):
        raise ValueError(
            f"recorded/{name}.json is a run of {there}, these are {label}: their run wants a name of its own"
        )


def _plain(data: Any) -> Any:
    """As JSON gives it back, so that a live run and a recorded one look alike: named tuples are dicts, other tuples lists."""
    return json.loads(json.dumps(_named(data), allow_nan=False))


def _named(data: Any) -> Any:
    if hasattr(data, "_asdict"):
        data = data._asdict()
    if isinstance(data, dict):
        return {key: _named(value) for key, value in data.items()}
    return [_named(value) for value in data] if isinstance(data, (list, tuple)) else data


def _path(name: str, folder: Path | None = None) -> Path:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f'a recorded run is named like "ring-all-reduce" (small letters, digits, hyphens), got {name!r}'
        )
    return (folder or FOLDER) / f"{name}.json"


def _cpu_model() -> str:
    """Linux: /proc/cpuinfo's model name; elsewhere what Python knows."""
    try:
        found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()
