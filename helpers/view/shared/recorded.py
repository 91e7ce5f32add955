"""Recorded traces of memory, as widgets take them. Chapters: training-memory, allocator, too-big."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from helpers.memory import Trace, unpack

FOLDER = Path(__file__).resolve().parents[3] / "recorded" / "memory"


def names() -> list[str]:
    """The recorded traces: of recorded/memory/article-cpu.json "article-cpu", of from/1xh200/memory/gpu-gpt-2.json "1xh200-gpt-2"."""
    return sorted(_paths())


def _paths() -> dict[str, Path]:
    theirs = {
        f"{path.parents[1].name}-{path.stem.removeprefix('gpu-')}": path
        for path in FOLDER.parent.glob("from/*/memory/*.json")
    }
    return theirs | {path.stem: path for path in FOLDER.glob("*.json")}


@cache
def recorded_set(name: str) -> dict:
    """A recorded trace as the widget takes it: {"name", "label", "machine", "date", "recorded", "ranks": [packed trace, ...]}.

    ValueError naming those that exist. Treat as read-only.
    """
    if name not in names():
        raise ValueError(f"no recorded trace {name!r}; there are: {', '.join(names()) or 'none'}")
    run = json.loads(_paths()[name].read_text(encoding="utf-8"))
    ranks = run["data"]["ranks"]
    source, machine = ranks[0]["source"], run["machine"]
    where = ", ".join(machine.get("gpus", ())) if "CUDA" in source else f"{machine['cpu']}, {machine['cores']} cores"
    about = {"label": run["label"], "machine": "" if source.startswith("predicted") else where, "date": run["date"]}
    return {"name": name, **about, "recorded": True, "ranks": ranks}


def traces_of(found: Mapping) -> list[Trace]:
    """The traces of such a set; those of a recorded one are unpacked once."""
    return list(_recorded_traces(found["name"])) if found.get("recorded") else [unpack(data) for data in found["ranks"]]


@cache
def _recorded_traces(name: str) -> tuple[Trace, ...]:
    return tuple(unpack(data) for data in recorded_set(name)["ranks"])
