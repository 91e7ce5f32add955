"""The sketch `follow`: the way of one chunk, a station for each rank that it comes to, and whose numbers are inside there.

Chapter: ring.
"""

from __future__ import annotations

from itertools import pairwise

from helpers.collectives import Schedule, Transfer
from helpers.collectives.simulate import counts, holdings
from helpers.view.shared.schedules.named import What, resolve
from helpers.view.shared.words import counted
from helpers.view.sketch.svg import WIDTH, Moment, Sketch, arrow, badge, cell, group, label, line, mark, rect

MOST = 8  # stations that have room beside each other
HIGH, WIDE = 26, 36  # pixels of a cell
CELLS, RANKS, NUMBERS = 30, 84, 114  # where cells begin, ranks have their middle, the numbers of steps their feet
SAID = {"reduce": "each rank adds its own", "copy": "each rank keeps a copy"}


def follow(what: What, nranks: int = 4, chunk: int = 0) -> Sketch:
    """One chunk from rank to rank. ValueError where it goes to several at once, or by more stations than have room."""
    s = resolve(what, nranks=nranks)
    way = route(s, chunk)
    held = slots(s, chunk, way)
    pitch = (WIDTH - 12) / len(held)
    places = [6 + pitch * (i + 0.5) for i in range(len(held))]
    ranks = [way[0][1].src, *(t.dst for _, t in way)]
    stations = zip(ranks, held, places, strict=True)
    body = (
        *(_station(i, chunk, *one) for i, one in enumerate(stations)),
        *(_hop(i, n, t, *places[i - 1 : i + 1]) for i, (n, t) in enumerate(way, 1)),
        *_phases([t.op for _, t in way], places),
        label("bim-label", 6, NUMBERS, "step"),
        rect("bim-here", places[0] - WIDE / 2 - 3, CELLS - 3, WIDE + 6, HIGH + 6, 7),
    )
    says = sentences(s, chunk, way, held)
    moments = tuple(Moment(place - places[0], said) for place, said in zip(places, says, strict=True))
    title = f"The way of chunk {chunk} in {s.collective} by {s.algorithm} on {s.nranks} ranks"
    return Sketch(title, " ".join(says), NUMBERS + 6, "".join(body), moments, len(way), "Step")


def route(s: Schedule, chunk: int) -> list[tuple[int, Transfer]]:
    """Every transfer of the chunk, with the number of its step from 1. ValueError unless each begins where the last one ended."""
    if not 0 <= chunk < s.nchunks:
        raise ValueError(f"chunk must lie in 0..{s.nchunks - 1}, got {chunk}")
    way = [(n, t) for n, step in enumerate(s.steps, 1) for t in step if t.chunk == chunk]
    if not way or any(one.dst != two.src for (_, one), (_, two) in pairwise(way)):
        raise ValueError(f"chunk {chunk} of {s.collective} by {s.algorithm} has no one way: it goes to several ranks")
    if len(way) >= MOST:
        raise ValueError(f"chunk {chunk} comes to {len(way) + 1} stations; there is room for {MOST}: take fewer ranks")
    return way


def slots(s: Schedule, chunk: int, way: list[tuple[int, Transfer]]) -> list[list[int]]:
    """How often each origin is inside the chunk, where it starts and where each of its transfers ends: the proof's own counts."""
    states = [dict(state[chunk]) for state in holdings(s)]
    inside = [states[0][way[0][1].src], *(states[n][t.dst] for n, t in way)]
    return [counts(one, s.nranks) for one in inside]


def sentences(s: Schedule, chunk: int, way: list[tuple[int, Transfer]], held: list[list[int]]) -> list[str]:
    """A sentence a station."""
    total, inside = s.nranks, [sum(map(bool, counts)) for counts in held]
    says = [f"At the start rank {way[0][1].src} has chunk {chunk} with {counted(inside[0], 'contribution')}, its own."]
    for (n, t), count in zip(way, inside[1:], strict=True):
        does = f"adds its own: {count} of {total} are inside" if t.op == "reduce" else f"keeps a copy of all {count}"
        says.append(f"Step {n}: rank {t.src} sends it to rank {t.dst}, which {does}.")
    return says


def _station(i: int, chunk: int, rank: int, counts: list[int], x: float) -> str:
    held = cell(counts, x - WIDE / 2, CELLS, WIDE, HIGH)
    return group(mark(f"chunk {chunk}", f"rank {rank}"), held, since=i) + badge(rank, x, RANKS)


def _hop(i: int, step: int, t: Transfer, before: float, after: float) -> str:
    moved = group(f"bim-r{t.src % 8} {mark(f'rank {t.src}')}", arrow(before + 13, after - 13, RANKS), since=i)
    return moved + label("bim-label bim-middle", (before + after) / 2, NUMBERS, step)


def _phases(ops: list[str], places: list[float]) -> list[str]:
    """A line over the hops that add, one over those that overwrite, with what happens there."""
    parts = []
    for op, said in SAID.items():
        if own := [i for i, one in enumerate(ops) if one == op]:
            left, right = places[own[0]] + WIDE / 2, places[own[-1] + 1] + WIDE / 2
            parts += [
                line("bim-axis", (left + 3, 21), (right, 21)),
                label("bim-label bim-middle", (left + right) / 2, 14, said),
            ]
    return parts
