"""The sketch `overlap`: one buffer over the same hops, in one piece and in several, on one axis. Chapter: latency-bandwidth."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

from helpers.collectives import Schedule, price
from helpers.facts import Link
from helpers.units import nbytes_text, seconds_text
from helpers.view.shared.schedules.named import What, link_of, resolve, size_of
from helpers.view.shared.words import counted
from helpers.view.sketch.busiest import Busy, most, port_times
from helpers.view.sketch.svg import WIDTH, Moment, Sketch, group, label, line, mark, rect

MOST = 8  # ranks that have room under each other
ROW, HEAD, HIGH = 12, 18, 8  # pixels of a rank, of what stands above a panel, of a bar
LEFT, RIGHT = 24, WIDTH - 4  # where time begins and ends
SAME = 1e-9  # seconds


class Arrival(NamedTuple):
    """A message at the rank that receives it: when its step begins, in seconds, and how long the port is busy."""

    rank: int
    chunk: int
    start: float
    busy: Busy


def overlap(
    what: What, nranks: int = 8, nchunks: int = 8, nbytes: int | str | None = None, link: str | None = None
) -> Sketch:
    """A row a rank that receives, above in one piece, below in nchunks. With Simple, after the same call.

    ValueError on what has no room, and where pieces change nothing.
    """
    size, line_of = size_of(nbytes), link_of(link).by("Simple")
    whole, cut = (resolve(what, nranks=nranks, nchunks=pieces) for pieces in (1, nchunks))
    if nranks > MOST or whole.nswitches:
        raise ValueError(f"there is room for {MOST} ranks without a switch, got {nranks}")
    panels = [(s, *arrivals(s, size, line_of)) for s in (whole, cut)]
    ends = [end for _, _, end in panels]
    if ends[1] >= ends[0]:
        raise ValueError(
            f"{whole.algorithm} takes {seconds_text(ends[0])} in 1 piece, {seconds_text(ends[1])} in {nchunks}"
        )
    title = (
        f"{whole.collective} of {nbytes_text(size)} by {whole.algorithm} on {nranks} ranks, in 1 piece and in {nchunks}"
    )
    told = f"In 1 piece it takes {seconds_text(ends[0])}, in {counted(nchunks, 'piece')} {seconds_text(ends[1])}."
    starts = sorted({round(arrival.start / SAME) for _, found, _ in panels for arrival in found})
    body = "".join(_panel(i, *panel, ends[0], starts) for i, panel in enumerate(panels))
    moments = tuple(Moment(0.0, "") for _ in range(len(starts) + 1))
    return Sketch(title, told, 2 * _high(nranks) + 4, body, moments, len(starts))


def arrivals(s: Schedule, nbytes: int, link: Link) -> tuple[list[Arrival], float]:
    """Every message in the order of steps, by the price's own charges; and when the last step ends. Time begins with the call."""
    times = port_times(s, nbytes, link)
    ends = [*accumulate(map(most, times), initial=price(s, nbytes, link).call)]
    found = [
        Arrival(t.dst, t.chunk, start, busy["recv", t.dst])
        for step, start, busy in zip(s.steps, ends, times, strict=False)
        for t in step
    ]
    return found, ends[-1]


def _high(nranks: int) -> float:
    return HEAD + ROW * (nranks - 1) + 6


def _panel(place: int, s: Schedule, found: list[Arrival], end: float, longest: float, starts: list[int]) -> str:
    top, scale = place * _high(s.nranks), (RIGHT - LEFT) / longest
    ranks = sorted({arrival.rank for arrival in found})
    foot, last = top + HEAD + ROW * len(ranks), LEFT + end * scale
    said = f"in {counted(s.nchunks, 'piece')}: {seconds_text(end)}"
    bars = [_bars(one, top + HEAD + ROW * ranks.index(one.rank), scale, starts) for one in found]
    names = [label("bim-label bim-end", LEFT - 6, top + HEAD + ROW * i + 9, rank, 11) for i, rank in enumerate(ranks)]
    fence = line("bim-fence bim-ends", (last, top + HEAD - 2), (last, foot + 2))
    return "".join((label("bim-size", LEFT, top + 12, said), *names, *bars, fence))


def _bars(one: Arrival, y: float, scale: float, starts: list[int]) -> str:
    """Hollow what alpha takes, where it is wide enough to be seen; filled the bytes, a pixel apart from the next piece."""
    alpha, transfer = (part * scale for part in one.busy)
    x, since = LEFT + one.start * scale, starts.index(round(one.start / SAME)) + 1
    drawn = [rect(f"bim-alpha {mark('alpha')}", x, y, alpha, HIGH, since=since)] if alpha >= 1 else []
    drawn.append(rect(f"bim-full {mark('beta')}", x + alpha, y, max(transfer - 1, 0.75), HIGH, since=since))
    return group(f"bim-r{one.rank % 8} {mark(f'rank {one.rank}', f'chunk {one.chunk}')}", *drawn)
