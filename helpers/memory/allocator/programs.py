"""Little programs as traces, so that a lesson on the allocator fits on three lines. Chapter: allocator."""

from __future__ import annotations

import re

from helpers.memory.allocator.replay import EMPTY_CACHE
from helpers.memory.trace import CLASSES, Event, Trace, TraceError
from helpers.units import UnitError, parse_nbytes

WRITTEN = "written by hand"
_MAKE = re.compile(r"(\w+)\s*=\s*([\d.]+ ?\w*)\s*(?:#\s*(\w+)\s*)?$")
_DEL = re.compile(r"del\s+(\w+(?:\s*,\s*\w+)*)$")


def program(text: str, label: str = "a program") -> Trace:
    """A trace from lines: `a = 6 MiB` makes a tensor (`# activation` behind it says its class, else "temporary"), `del a, b` frees tensors,
    `empty_cache()` empties the cache; lines may also be parted by semicolons.

    TraceError for any other line, a name that is not alive, or a name that is made again while alive.
    """
    events: list[Event] = []
    alive: dict[str, Event] = {}
    for line in filter(None, (part.strip() for part in re.split(r"[\n;]", text))):
        if line == f"{EMPTY_CACHE}()":
            events.append(Event("mark", -1, 0, "temporary", op=EMPTY_CACHE))
        elif found := _DEL.match(line):
            events.extend(_freed(name.strip(), alive, line) for name in found[1].split(","))
        elif found := _MAKE.match(line):
            events.append(_made(found, len(events), alive, line))
        else:
            raise TraceError(f'a line is "a = 6 MiB", "del a" or "empty_cache()", got {line!r}')
    return Trace(tuple(events), WRITTEN, {"label": label})


def _made(found: re.Match[str], block: int, alive: dict[str, Event], line: str) -> Event:
    name, size, cls = found[1], found[2], found[3] or "temporary"
    if name in alive:
        raise TraceError(f"{name} is alive already: {line!r}")
    if cls not in CLASSES:
        raise TraceError(f"a class is one of {', '.join(CLASSES)}, got {line!r}")
    try:
        nbytes = parse_nbytes(size.strip())
    except UnitError as error:
        raise TraceError(f"{line!r}: {error}") from None
    alive[name] = Event("alloc", block, nbytes, cls, op=name)
    return alive[name]


def _freed(name: str, alive: dict[str, Event], line: str) -> Event:
    if name not in alive:
        raise TraceError(f"{name} is not alive: {line!r}")
    return alive.pop(name)._replace(kind="free")
