"""Everything that a widget can ask for, on every number of ranks; chunks, slices and nodes from the offer."""

from __future__ import annotations

from helpers.collectives import Schedule
from helpers.view.shared.schedules.traces import build, catalogue, offered


def catalogued() -> list[Schedule]:
    found = []
    for entry in catalogue():
        for nranks in entry["nranks"]:
            name, values = offered(entry, nranks)
            options = [{name: n} for n in values] if name else [{}]
            found += [build(entry["collective"], entry["algorithm"], nranks, **option) for option in options]
    return found
