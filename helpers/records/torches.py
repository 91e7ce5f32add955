"""What passed on another torch than the course's own, and what cells of labs gave there. Page: setup.

`python -m tools.torches` writes it.
"""

from __future__ import annotations

import re
from typing import Any

from helpers.records.fields import day, each, expected, fields, named, something, under
from helpers.records.kinds import run

_NAME = re.compile(r"torch-(\d+)-(\d+)")
_COUNTS = "passed", "failed", "error", "skipped"
_LANE = fields(dict.fromkeys(_COUNTS, something) | {"date": day})
_CELLS = named(each(something, 1))
_DATA = fields({"lanes": named(_LANE), "cells": lambda value, place: value == {} or _CELLS(value, place)})


def torches(data: Any, stem: str) -> None:
    """A run whose name has the first two numbers of its torch, "torch-2-15"; its lanes have passed and none has failed."""
    run(data, stem)
    _DATA(data["data"], "data")
    found, there = _NAME.fullmatch(stem), data["versions"]["torch"].split(".")
    if not found or [*found.groups()] != there[:2]:
        raise expected("torch- and the first two numbers of its version", stem, "name")
    for name, lane in data["data"]["lanes"].items():
        place = f"data.lanes.{name}"
        for kind in _COUNTS:
            if not isinstance(lane[kind], int) or isinstance(lane[kind], bool) or lane[kind] < 0:
                raise expected("a count", lane[kind], under(place, kind))
        if not lane["passed"] or lane["failed"] or lane["error"]:
            raise expected("tests that passed, and none that failed", lane, place)
