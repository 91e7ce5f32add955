"""Recorded traces of memory, as widgets take them. Chapters: training-memory, allocator, too-big."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from helpers.memory import Trace, unpack

FOLDER = Path(__file__).resolve().parents[3] / "recorded" / "memory"


def names() -> list[str]:
    """The recorded traces: recorded/memory/<name>.json."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


@cache
def recorded_set(name: str) -> dict:
    """A recorded trace as the widget takes it: {"name", "label", "machine", "date", "recorded", "ranks": [packed trace, ...]}.

    ValueError naming those that exist. Treat as read-only.
    """
    if name not in names():
        raise ValueError(f"no recorded trace {name!r}; there are: {', '.join(names()) or 'none'}")
    run = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    ranks = run["data"]["ranks"]
    machine = (
        ""
        if ranks[0]["source"].startswith("predicted")
        else f"{run['machine']['cpu']}, {run['machine']['cores']} cores"
    )
    gpus = run["machine"].get("gpus")
    about = {"label": run["label"], "machine": ", ".join(gpus) if gpus else machine, "date": run["date"]}
    return {"name": name, **about, "recorded": True, "ranks": ranks}


def traces_of(found: Mapping) -> list[Trace]:
    """The traces of such a set; those of a recorded one are unpacked once."""
    return list(_recorded_traces(found["name"])) if found.get("recorded") else [unpack(data) for data in found["ranks"]]


@cache
def _recorded_traces(name: str) -> tuple[Trace, ...]:
    return tuple(unpack(data) for data in recorded_set(name)["ranks"])
