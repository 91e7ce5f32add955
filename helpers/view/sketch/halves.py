"""The sketch `halves`: which part of the buffer one rank sends in each step and which it receives. Chapter: halving-doubling."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from helpers.collectives import Schedule
from helpers.view.shared.schedules.named import What, resolve
from helpers.view.sketch.svg import Moment, Sketch, badge, group, label, line, mark, rect

ROW, HEAD = 21, 22  # pixels of a step, and of the names of columns
LEFT, WIDE = 68, 204  # where the buffer begins, and how wide it is
WITH = 47  # the middle of the partners
BETWEEN = 8  # pixels between the steps that add and those that overwrite


class Exchange(NamedTuple):
    """What a rank does in one step: with whom, which chunks it sends and receives, and whether they are added."""

    partner: int
    sent: tuple[int, ...]
    received: tuple[int, ...]
    adds: bool


def halves(what: What, nranks: int = 8, rank: int = 0) -> Sketch:
    """The exchanges of one rank, a row a step. ValueError where it has not one partner in each step."""
    s = resolve(what, nranks=nranks)
    steps = exchanges(s, rank)
    tops = [HEAD + ROW * i + BETWEEN * (not one.adds and steps[0].adds) for i, one in enumerate(steps)]
    rows = (_row(i, rank, s, one, top) for i, (one, top) in enumerate(zip(steps, tops, strict=True), 1))
    says = [_sentence(i, rank, s, one) for i, one in enumerate(steps, 1)]
    start = f"Rank {rank} starts with the whole buffer, {s.nchunks} chunks."
    title = f"What rank {rank} sends and receives in {s.collective} by {s.algorithm} on {s.nranks} ranks"
    moments = tuple(Moment(0.0, said) for said in (start, *says))
    return Sketch(title, " ".join((start, *says)), tops[-1] + ROW + 2, "".join((*_head(s), *rows)), moments, len(steps))


def exchanges(s: Schedule, rank: int) -> list[Exchange]:
    """The rank's part of every step."""
    if not 0 <= rank < s.nranks:
        raise ValueError(f"rank must lie in 0..{s.nranks - 1}, got {rank}")
    return [_exchange(s, rank, n, step) for n, step in enumerate(s.steps, 1)]


def _exchange(s: Schedule, rank: int, n: int, step: tuple) -> Exchange:
    sent = [t for t in step if t.src == rank]
    got = [t for t in step if t.dst == rank]
    partners = {t.dst for t in sent} | {t.src for t in got}
    if len(partners) != 1:
        raise ValueError(
            f"rank {rank} has {len(partners)} partners in step {n} of {s.algorithm}: expected one in each step"
        )
    chunks = tuple(tuple(sorted(t.chunk for t in ones)) for ones in (sent, got))
    return Exchange(partners.pop(), *chunks, any(t.op == "reduce" for t in got))


def runs(chunks: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """(first, how many) of every run of neighbours."""
    starts = [c for c in chunks if c - 1 not in chunks]
    ends = [c for c in chunks if c + 1 not in chunks]
    return ((first, last - first + 1) for first, last in zip(starts, ends, strict=True))


def part(count: int, whole: int) -> str:
    """ "N/4" """
    share = Fraction(count, whole)
    over = "" if share.numerator == 1 else share.numerator
    return f"{over}N" if share.denominator == 1 else f"{over}N/{share.denominator}"


def _row(i: int, rank: int, s: Schedule, one: Exchange, top: float) -> str:
    pitch, middle = WIDE / s.nchunks, top + ROW / 2
    bars = [(rank, "bim-full", one.sent), (one.partner, "bim-bytes", one.received)]
    drawn = [
        group(
            f"bim-r{owner % 8} {mark(f'rank {owner}', *(f'chunk {c}' for c in chunks))}",
            *(rect(kind, LEFT + first * pitch + 1, top + 2.5, n * pitch - 2, ROW - 5, 2) for first, n in runs(chunks)),
            since=i,
        )
        for owner, kind, chunks in bars
    ]
    base = line("bim-grid", (LEFT, middle), (LEFT + WIDE, middle))
    size = label("bim-size", LEFT + WIDE + 10, middle + 4, part(len(one.sent), s.nchunks))
    return base + label("bim-label", 6, middle + 4, i) + badge(one.partner, WITH, middle, 18) + "".join(drawn) + size


def _head(s: Schedule) -> list[str]:
    pitch = WIDE / s.nchunks
    names = [label("bim-label bim-middle", LEFT + (c + 0.5) * pitch, 13, c, 11) for c in range(s.nchunks)]
    return [
        label("bim-label", 6, 13, "step", 11),
        label("bim-label bim-middle", WITH, 13, "with", 11),
        label("bim-label", LEFT + WIDE + 10, 13, "sends", 11),
        *names,
    ]


def _sentence(i: int, rank: int, s: Schedule, one: Exchange) -> str:
    size = part(len(one.sent), s.nchunks)
    does = "adds" if one.adds else "keeps"
    return (
        f"Step {i}: it sends {size} to rank {one.partner} and {does} {part(len(one.received), s.nchunks)} from there."
    )
