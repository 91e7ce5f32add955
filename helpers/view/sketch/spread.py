"""The sketch `spread`: one chunk on its way from few ranks to many, or from many to few: a row a rank, a column a step.

Chapters: trees, halving-doubling.
"""

from __future__ import annotations

import math
from itertools import pairwise

from helpers.collectives import Schedule, Transfer
from helpers.view.shared.schedules.named import What, resolve
from helpers.view.shared.words import counted
from helpers.view.sketch.svg import WIDTH, Moment, Sketch, badge, element, group, label, line, mark

MOST = 8  # ranks that have room under each other
ROW, HEAD = 20, 22  # pixels of a rank, and of the names of columns
LEFT, RIGHT, TAIL = 58, WIDTH - 26, 14  # the start, the end of the last step, and how far lines go on
TIP = 7  # pixels of an arrow's head


def spread(what: What, nranks: int = 8, chunk: int = 0) -> Sketch:
    """Every way that a chunk takes, as far as all ranks copy it or all add it. ValueError where some copy and others add."""
    s = resolve(what, nranks=nranks)
    steps = ways(s, chunk)
    many = tallies(s, steps)
    places = [LEFT + (RIGHT - LEFT) * i / len(steps) for i in range(len(steps) + 1)]
    foot = HEAD + ROW * s.nranks
    copied = steps[0][0].op == "copy"
    rows = (_row(rank, steps, places, copied) for rank in range(s.nranks))
    hops = (_hop(i, chunk, t, *places[i - 1 : i + 1]) for i, step in enumerate(steps, 1) for t in step)
    heads = (
        label("bim-label bim-middle", sum(places[i - 1 : i + 1]) / 2, 13, f"step {i}") for i in range(1, len(steps) + 1)
    )
    counts = (label("bim-size bim-middle", x, foot + 14, n) for x, n in zip(_under(places, copied), many, strict=True))
    word = label("bim-label", 2, foot + 14, "have it" if copied else "send it")
    says = [_sentence(i, step, n, copied) for i, (step, n) in enumerate(zip(steps, many[copied:], strict=True), 1)]
    title = f"The ways of chunk {chunk} in {s.collective} by {s.algorithm} on {s.nranks} ranks"
    moments = tuple(Moment(0.0, "") for _ in places)
    return Sketch(title, " ".join(says), foot + 20, "".join((*heads, *rows, *hops, word, *counts)), moments, len(steps))


def ways(s: Schedule, chunk: int) -> list[tuple[Transfer, ...]]:
    """The chunk's transfers, step by step. ValueError on what has no room, and where some are copied and others added."""
    if s.nranks > MOST or s.nswitches:
        raise ValueError(f"there is room for {MOST} ranks without a switch, got {s.nranks} and {s.nswitches} switches")
    if not 0 <= chunk < s.nchunks:
        raise ValueError(f"chunk must lie in 0..{s.nchunks - 1}, got {chunk}")
    steps = [tuple(t for t in step if t.chunk == chunk) for step in s.steps]
    if not all(steps) or len({t.op for step in steps for t in step}) != 1:
        raise ValueError(
            f"chunk {chunk} of {s.collective} by {s.algorithm} is not copied in every step, nor added in every one"
        )
    return steps


def tallies(s: Schedule, steps: list[tuple[Transfer, ...]]) -> list[int]:
    """Of copies how many ranks have the chunk, at the start and after every step; of sums how many send it in every step."""
    if steps[0][0].op == "reduce":
        return [len({t.src for t in step}) for step in steps]
    have = {t.src for t in steps[0]}
    found = [len(have)]
    for step in steps:
        have |= {t.dst for t in step}
        found.append(len(have))
    return found


def middle(rank: int) -> float:
    return HEAD + ROW * (rank + 0.5)


def _under(places: list[float], copied: bool) -> list[float]:
    """Where the tallies stand: under the ends of steps, or under the steps."""
    return places if copied else [(one + two) / 2 for one, two in pairwise(places)]


def _row(rank: int, steps: list[tuple[Transfer, ...]], places: list[float], copied: bool) -> str:
    """A rank, and its line: strong as long as it has the chunk, of a sum as long as it has not passed it on."""
    y = middle(rank)
    turns = [i for i, step in enumerate(steps, 1) for t in step if (t.dst if copied else t.src) == rank]
    turn = min(turns, default=0 if copied else len(steps))
    end = RIGHT + TAIL
    base = line("bim-grid", (LEFT, y), (end, y))
    own = (places[turn], end) if copied else (LEFT, places[max(turn - 1, 0)] if turns else end)
    strong = line("bim-carry", (own[0], y), (own[1], y)) if own[0] < own[1] else ""
    kinds = f"bim-r{rank % 8} {mark(f'rank {rank}')}"
    return base + badge(rank, 14, y, 18) + group(kinds, strong, since=turn if copied else None)


def _hop(step: int, chunk: int, t: Transfer, before: float, after: float) -> str:
    """From the sender's line at the step's start to the receiver's at its end."""
    (x1, y1), (x2, y2) = (before, middle(t.src)), (after, middle(t.dst))
    turn = math.degrees(math.atan2(y2 - y1, x2 - x1))
    back = TIP * 0.8 / math.hypot(x2 - x1, y2 - y1)
    head = element(
        "path",
        {"class": "bim-arrow", "d": f"M0 0l-{TIP} -4v8z", "transform": f"translate({x2:g} {y2:g}) rotate({turn:.1f})"},
    )
    way = line("bim-carry", (x1, y1), (x2 - back * (x2 - x1), y2 - back * (y2 - y1)))
    return group(f"bim-r{t.src % 8} {mark(f'rank {t.src}', f'chunk {chunk}')}", way, head, since=step)


def _sentence(step: int, transfers: tuple[Transfer, ...], many: int, copied: bool) -> str:
    moves = ", ".join(f"rank {t.src} to rank {t.dst}" for t in transfers)
    return f"Step {step}: {moves}; {counted(many, 'rank')} {'have it' if copied else 'sent it'}."
