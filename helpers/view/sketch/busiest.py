"""The sketch `busiest`: what every port does in every step, and the busiest one, at which the step ends. Chapters: trees, hierarchy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from helpers.collectives import Nodes, Schedule, price
from helpers.collectives.ports import Network, Tariff, chunk_nbytes, flows, under
from helpers.facts import LINKS
from helpers.units import nbytes_text, seconds_text
from helpers.view.shared.schedules.named import What, link_of, resolve, size_of
from helpers.view.shared.words import percent
from helpers.view.sketch.svg import WIDTH, Moment, Sketch, badge, group, label, line, mark, rect

MOST = 8  # ranks that have room under each other
ROW, HEAD = 20, 22  # pixels of a rank, and of what stands above
LEFT, RIGHT = 32, WIDTH - 46  # where time begins and ends
HIGH = 7  # pixels of a port's bar
SAME = 1 - 1e-9  # of the busiest: as busy
Port = tuple[str, int]  # ("send", 2) or ("recv", 2)


class Busy(NamedTuple):
    """Seconds that a port is busy in a step: alphas, and bytes."""

    alpha: float
    transfer: float


def busiest(
    what: What,
    nranks: int = 4,
    nbytes: int | str | None = None,
    link: str | None = None,
    gpus: int | None = None,
    across: str | None = None,
    nchunks: int | None = None,
    steps: int | None = None,
) -> Sketch:
    """A row a rank, above its line what it sends, below what it receives; solid what is busiest in its step.

    gpus, across: nodes of that many ranks with another link between them. steps: only so many, from the first.
    ValueError on what has no room.
    """
    s = resolve(what, nranks=nranks, nchunks=nchunks, gpus=gpus)
    if s.nranks > MOST or s.nswitches:
        raise ValueError(f"there is room for {MOST} ranks without a switch, got {s.nranks} and {s.nswitches} switches")
    network = Nodes(gpus, link_of(link), LINKS[across]) if gpus and across else link_of(link)
    times = port_times(s, size_of(nbytes), network)
    return _drawn(s, times, _told(s, size_of(nbytes), network), steps or len(times))


def _told(s: Schedule, nbytes: int, network: Network) -> str:
    """64 MiB, with LL128 after a call of 5.38 µs"""
    cost = price(s, nbytes, network)
    by = f", with {cost.protocol} after a call of {seconds_text(cost.call)}" if cost.protocol else ""
    return f"{nbytes_text(nbytes)}{by}"


def port_times(s: Schedule, nbytes: int, network: Network) -> list[dict[Port, Busy]]:
    """How long each port is busy, step by step, by the price's own charges, with the protocol that it takes."""
    (line,) = under(network, price(s, nbytes, network).protocol or None)
    tariff = Tariff(s.nranks, chunk_nbytes(s, nbytes), line)
    return [_of_step(tariff, flow) for flow in flows(s)]


def _of_step(tariff: Tariff, flow: tuple) -> dict[Port, Busy]:
    found: dict[Port, Busy] = defaultdict(lambda: Busy(0.0, 0.0))
    for (src, dst), nchunks in flow:
        ports, alpha, transfer, _ = tariff.charge(src, dst, nchunks)
        for port in ports:
            found[port] = Busy(found[port].alpha + alpha, found[port].transfer + transfer)
    return dict(found)


def most(step: dict[Port, Busy]) -> float:
    """Seconds of the step: of its busiest port."""
    return max(map(sum, step.values()))


def shares(steps: list[dict[Port, Busy]], nranks: int) -> list[float]:
    """What part of the time each rank has something to send or to receive."""
    whole = sum(map(most, steps))
    return [sum(_works(step, rank) for step in steps) / whole for rank in range(nranks)]


def _works(step: dict[Port, Busy], rank: int) -> float:
    return max(sum(step.get((way, rank), (0.0,))) for way in ("send", "recv"))


def _drawn(s: Schedule, times: list[dict[Port, Busy]], size: str, count: int) -> Sketch:
    steps = times[:count]
    ends = [*accumulate(map(most, steps), initial=0.0)]
    scale, foot = (RIGHT - LEFT) / ends[-1], HEAD + ROW * s.nranks
    busy = shares(steps, s.nranks)
    fences = [_fence(LEFT + end * scale, foot, end == ends[-1]) for end in ends]
    rows = [_row(rank, steps, ends, scale, busy[rank]) for rank in range(s.nranks)]
    length = seconds_text(ends[-1])
    if count < len(times):
        length += f", {'step 1' if count == 1 else f'steps 1 to {count}'} of {len(times)}"
    words = (
        label("bim-label bim-end", WIDTH - 2, 13, "busy"),
        label("bim-label", LEFT, foot + 17, "0"),
        label("bim-size bim-end", RIGHT, foot + 17, length),
    )
    title = f"Every port in {s.collective} by {s.algorithm} on {s.nranks} ranks, {size}: {length}"
    told = " ".join(f"Rank {rank} is busy {percent(share, 1)} of the time." for rank, share in enumerate(busy))
    moments = tuple(Moment(0.0, "") for _ in ends)
    return Sketch(title, told, foot + 22, "".join((*fences, *rows, *words)), moments, len(steps))


def _fence(x: float, foot: float, is_last: bool) -> str:
    return line("bim-fence bim-ends" if is_last else "bim-fence", (x, HEAD - 2), (x, foot + 2))


def _row(rank: int, steps: list[dict[Port, Busy]], ends: list[float], scale: float, share: float) -> str:
    middle = HEAD + ROW * (rank + 0.5)
    bars = [
        bar
        for i, step in enumerate(steps, 1)
        for way, over in (("send", -HIGH - 0.5), ("recv", 0.5))
        if (way, rank) in step
        for bar in _bars(step[way, rank], i, LEFT + ends[i - 1] * scale, middle + over, scale, most(step))
    ]
    base = line("bim-grid", (LEFT, middle), (RIGHT, middle))
    drawn = group(f"bim-r{rank % 8} {mark(f'rank {rank}')}", *bars)
    said = label("bim-size bim-end", WIDTH - 2, middle + 4, f"{100 * share:.0f} %")
    return base + badge(rank, 14, middle, 18) + drawn + said


def _bars(busy: Busy, step: int, x: float, y: float, scale: float, longest: float) -> Iterator[str]:
    """Hollow what alphas take, where it is wide enough to be seen; filled what bytes take, solid on the busiest port."""
    alpha, transfer = (part * scale for part in busy)
    kind = "bim-full" if sum(busy) >= SAME * longest else "bim-bytes"
    if alpha >= 1:
        yield rect(f"bim-alpha {mark('alpha')}", x, y, alpha, HIGH, since=step)
    yield rect(f"{kind} {mark('beta')}", x + alpha, y, max(transfer, 0.75), HIGH, since=step)
