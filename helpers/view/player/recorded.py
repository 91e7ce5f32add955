"""A traced run as the player takes it: checked against the schedule that it claims to be, and packed small.

The course never draws a run without saying on what machine and when it was measured. Chapters: ring, latency-bandwidth.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path

from helpers.collectives import Schedule, ScheduleError

FOLDER = Path(__file__).resolve().parents[3] / "recorded"
NEEDED = ("schedule", "nbytes", "seconds", "link", "messages")


def compact(recorded: object, schedule: Schedule, nbytes: int | None = None, folder: Path = FOLDER) -> dict:
    """{"name", "label", "machine", "date", "source", "nbytes", "seconds", "link": {alpha, bandwidth}, "messages"}.

    recorded: the name of recorded/NAME.json, a Run, or the dict that either holds. messages: rows of step, src, dst, send start,
    send end, recv start, recv end, in whole nanoseconds. ValueError when there is no such run, or it is of another schedule or size.
    """
    run = _run(recorded, folder)
    data = run["data"]
    missing = [key for key in NEEDED if key not in data] if isinstance(data, Mapping) else list(NEEDED)
    if missing:
        raise ValueError(
            f"a traced run holds {', '.join(NEEDED)}; {run['name'] or 'this one'} lacks {', '.join(missing)}"
        )
    _same_schedule(data["schedule"], schedule)
    if nbytes is not None and nbytes != data["nbytes"]:
        raise ValueError(f"the recorded run is of nbytes={data['nbytes']}, got nbytes={nbytes}")
    return {
        **{key: run[key] for key in ("name", "label", "machine", "date", "source")},
        "nbytes": data["nbytes"],
        "seconds": data["seconds"],
        "link": {key: data["link"][key] for key in ("alpha", "bandwidth")},
        "messages": _rows(data["messages"], schedule),
    }


def _run(recorded: object, folder: Path) -> dict:
    """name, data, label, machine, date and source of anything that is or names a run."""
    if isinstance(recorded, str):
        recorded = _load(recorded, folder)
    elif is_dataclass(recorded):
        recorded = asdict(recorded)
    if not isinstance(recorded, Mapping):
        raise ValueError(f"expected a recorded run's name, a Run or its data, got {recorded!r}")
    if "data" not in recorded:
        recorded = {"data": recorded}
    machine = recorded.get("machine") or {}
    cores = (
        f"{machine['cpu']}, {machine['cores']} cores"
        if isinstance(machine, Mapping) and machine
        else f"{machine or ''}"
    )
    torch = (recorded.get("versions") or {}).get("torch")
    return {
        "name": recorded.get("name", ""),
        "data": recorded["data"],
        "label": recorded.get("label", ""),
        "machine": "; ".join(part for part in (cores, torch and f"torch {torch}") if part),
        "date": recorded.get("date", ""),
        "source": recorded.get("source", "live"),
    }


def _load(name: str, folder: Path) -> dict:
    path = folder / f"{name}.json"
    if not path.is_file() or path.parent != folder:
        there = ", ".join(sorted(p.stem for p in folder.glob("*.json"))) or "none"
        raise ValueError(f"no recorded run {name!r}; there are: {there}")
    return {"name": name, **json.loads(path.read_text(encoding="utf-8")), "source": "replay"}


def _same_schedule(text: str, asked: Schedule) -> None:
    played = Schedule.parse(text)
    if (played.nranks, played.nchunks, played.steps, played.nswitches) == (
        asked.nranks,
        asked.nchunks,
        asked.steps,
        asked.nswitches,
    ):
        return
    told = [
        f"{s.collective} {s.algorithm} nranks={s.nranks} nchunks={s.nchunks}, {len(s.steps)} steps"
        for s in (played, asked)
    ]
    raise ValueError(f"the recorded run played another schedule: {told[0]}; asked for is {told[1]}")


def _rows(messages: list[Mapping], s: Schedule) -> list[list[int]]:
    """One row a message. Raises ScheduleError where the run's messages are not the schedule's."""
    wanted = {(number, t.src, t.dst) for number, step in enumerate(s.steps, 1) for t in step}
    found = {(m["step"], m["src"], m["dst"]) for m in messages}
    if found != wanted or len(messages) != len(wanted):
        odd = min(found ^ wanted, default="a message twice")
        raise ScheduleError(f"the recorded run's messages are not the schedule's: {odd} (step, src, dst)")
    return [[m["step"], m["src"], m["dst"], *map(_nanoseconds, (*m["send"], *m["recv"]))] for m in messages]


def _nanoseconds(seconds: float) -> int:
    if not math.isfinite(seconds):
        raise ValueError(f"a message's times are seconds since the common start, got {seconds!r}")
    return round(seconds * 1e9)
