"""Recorded steps of four ranks, as the widget draws them: what each rank computes and what it sends, over time. Chapter: overlap.

`python -m helpers.parallel.overlapping` records them, layers that sleep over an emulated link; what the model says stands beside.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

RUN = Path(__file__).resolve().parents[3] / "recorded" / "timeline-cpu.json"
KINDS = ("compute", "communication")
GRAIN = 1e-4  # seconds of a unit of `start` and `end`


@cache
def ways() -> dict:
    """{"label", "date", "ways": {slug: way}}; way: "name", "ranks", "measured" and "predicted". Treat as read-only.

    ranks: of each, [0 for computation or 1 for the link, start, end, what]; measured and predicted: seconds, computed, communication,
    exposed.
    """
    run = json.loads(RUN.read_text(encoding="utf-8"))
    found = {slug(name): _way(name, way) for name, way in run["data"]["ways"].items()}
    return {"label": run["label"], "date": run["date"], "ways": found}


def slug(name: str) -> str:
    """A way's name in a link."""
    return name.replace(", ", "-")


def _way(name: str, way: dict) -> dict:
    ranks: list[list] = [[] for _ in range(1 + max(event["rank"] for event in way["events"]))]
    for event in way["events"]:
        if event["kind"] in KINDS:
            times = [round(event[end] / GRAIN) for end in ("start", "end")]
            ranks[event["rank"]].append([KINDS.index(event["kind"]), *times, event["what"]])
    told = ("seconds", "computed", "communication", "exposed")
    return {"name": name, "ranks": ranks} | {
        by: {one: way[by][one] for one in told} for by in ("measured", "predicted")
    }
