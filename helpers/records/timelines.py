"""Recorded timelines: every rank's events, lane by lane (helpers.parallel.overlapping writes them). Page: recorded-runs."""

from __future__ import annotations

import math
from typing import Any

from helpers.records.fields import Bad, each, expected, fields, named, under

LANES = {"compute": "computing", "idle": "computing", "communication": "link"}


def _from_zero(value: Any, place: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise expected("a whole number from 0", value, place)


def _seconds(value: Any, place: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not (math.isfinite(value) and value >= 0):
        raise expected("seconds from 0", value, place)


def _kind(value: Any, place: str) -> None:
    if value not in tuple(LANES):
        raise expected(f"one of {', '.join(LANES)}", value, place)


def _words(value: Any, place: str) -> None:
    if not isinstance(value, str):
        raise expected("a text", value, place)


_EVENT = fields(
    {"rank": _from_zero, "kind": _kind, "start": _seconds, "end": _seconds, "what": _words, "nbytes": _from_zero}
)


def ways(value: Any, place: str) -> None:
    """By its way, each an object with events."""
    named(_way)(value, place)


def _way(value: Any, place: str) -> None:
    if not isinstance(value, dict) or "events" not in value:
        raise Bad(place, "the field 'events' is missing")
    events(value["events"], under(place, "events"))


def events(value: Any, place: str) -> None:
    """On each of a rank's lanes an event begins when the one before it has ended."""
    each(_EVENT, 1)(value, place)
    ended: dict[tuple[int, str], float] = {}
    for i, event in enumerate(value):
        lane = event["rank"], LANES[event["kind"]]
        before = ended.get(lane, 0.0)
        if not before <= event["start"] <= event["end"]:
            raise expected(f"from {before} to its end, {event['end']}", event["start"], under(place, f"{i}.start"))
        ended[lane] = event["end"]
