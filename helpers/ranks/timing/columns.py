"""`python -m helpers.ranks bench`: nccl-tests' columns, measured on torch's collectives or on a schedule's. Chapter: benchmarking.

Sizes, counts, algbw and busbw are counted as nccl-tests counts them; `time` is the minimum, and the median stands beside it.
The data is checked before it is timed, on whole numbers: every order of additions gives the same bits, so one wrong element is
a mistake and no rounding. The timed buffers hold zeros, which stay zeros however often they are summed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from helpers.collectives import CATALOGUE, PROMISES, Schedule, find_primitive
from helpers.collectives.outcomes import origins
from helpers.ranks.network.nic import aside
from helpers.ranks.play.play import execute
from helpers.ranks.primitives import prepared
from helpers.units import GB

from .timing import Timing, bench_each, reps_of, shift

TESTED = (*PROMISES, "send_recv")
ITEM = 4  # bytes of a float32
_SPREAD = 17  # inputs are whole numbers from -8 to 8
_CUT = ("all_gather", "reduce_scatter")  # torch can do these in place too: one buffer is a part of the other


class Side(NamedTuple):
    """Half a row, out of place or in place: the times, and how many elements were wrong on all ranks together.

    timing: None where nothing was timed, since the ranks share a GPU.
    """

    timing: Timing | None
    wrong: int


class Line(NamedTuple):
    """One row. nbytes: the larger of one rank's input and output; a side is None where the call has no such form."""

    collective: str
    nbytes: int
    nranks: int
    root: int | None
    out_of_place: Side | None
    in_place: Side | None

    @property
    def count(self) -> int:
        """Elements, as nccl-tests counts them: per rank where every rank has a part of its own."""
        return self.nbytes // ITEM // (1 if find_primitive(self.collective).kind == "whole" else self.nranks)

    def bandwidths(self, seconds: float) -> tuple[float, float]:
        """(algbw, busbw) in bytes per second."""
        algbw = self.nbytes / seconds
        return algbw, algbw * find_primitive(self.collective).promise.bus_factor(self.nranks)

    @property
    def wrong(self) -> int:
        """Elements that were wrong, on both sides."""
        return sum(side.wrong for side in (self.out_of_place, self.in_place) if side)

    @property
    def seconds(self) -> float | None:
        """The least time out of place, or in place where there is no other; None where nothing was timed."""
        side = self.out_of_place or self.in_place
        return side.timing.min if side and side.timing else None

    @property
    def busbw(self) -> float | None:
        """Bytes per second, one way, of `seconds`."""
        return None if self.seconds is None else self.bandwidths(self.seconds)[1]

    def as_json(self) -> dict[str, Any]:
        """Plain numbers: seconds, bytes, bytes per second one way."""
        head = {"nbytes": self.nbytes, "count": self.count, "root": self.root, "wrong": self.wrong}
        best = {"seconds": self.seconds, "busbw": self.busbw}
        return head | best | {"out_of_place": self._side(self.out_of_place), "in_place": self._side(self.in_place)}

    def _side(self, side: Side | None) -> dict[str, Any] | None:
        if side is None:
            return None
        if side.timing is None:
            return {"wrong": side.wrong}
        algbw, busbw = self.bandwidths(side.timing.min)
        return side.timing._asdict() | {"algbw": algbw, "busbw": busbw, "wrong": side.wrong}


def sizes(begin: int, end: int, factor: int, nranks: int) -> list[int]:
    """begin, begin * factor, ... up to end, each cut to whole elements for every rank. ValueError for a range without a size."""
    unit = ITEM * nranks
    if not (unit <= begin <= end and factor >= 2):
        raise ValueError(
            f"sizes go from at least {unit} B (one element per rank) up to a last by a factor of 2 or more,"
            f" got {begin} to {end} by {factor}"
        )
    found = []
    while begin <= end:
        found.append(begin // unit * unit)
        begin *= factor
    return found


def known(collective: str, algorithm: str | None) -> None:
    """Raises ValueError for a collective, or an algorithm of it, that is not there, naming those that are."""
    if collective not in TESTED:
        raise ValueError(f"bench takes {', '.join(TESTED)}, got {collective!r}")
    names = [name for other, name in CATALOGUE if other == collective]
    if algorithm is not None and algorithm not in names:
        raise ValueError(f"no {collective} by {algorithm!r}: there is {', '.join(names) or 'none'}")


def measure(
    collective: str,
    nbytes: int,
    algorithm: str | None = None,
    root: int = 0,
    warmup: int = 2,
    reps: int | None = None,
    timed: bool = True,
) -> Line:
    """Inside ranks: one row, checked and then timed. algorithm: None for torch's own call.

    reps: by default 20 up to 1 MiB and 5 beyond. timed: False where ranks share a GPU: checked, and nothing else.
    Raises ValueError for a collective, an algorithm or a root that is not there.
    """
    known(collective, algorithm)
    nranks, made = dist.get_world_size(), find_primitive(collective)
    if not 0 <= root < nranks:
        raise ValueError(f"the root is a rank in 0..{nranks - 1}, got {root}")
    if algorithm:
        built = CATALOGUE[collective, algorithm](nranks=nranks, **({"root": root} if made.rooted else {}))
    sides = _schedules(built, nbytes) if algorithm else _torchs(collective, nbytes, root)
    wrong = {name: side.wrong(collective, root) for name, side in sides.items()}
    calls = {name: side.run for name, side in sides.items()}
    timings = bench_each(calls, warmup, reps_of(nbytes, reps)) if timed else {}
    found = {name: Side(timings.get(name), wrong[name]) for name in sides}
    rooted = root if made.rooted and collective != "send_recv" else None
    return Line(collective, nbytes, nranks, rooted, found.get("out"), found.get("in"))


@dataclass
class _Side:
    """One way to call: its input buffer, the call, and what to look at afterwards (None: nothing is promised here)."""

    x: torch.Tensor
    run: Callable[[], object]
    result: Callable[[], torch.Tensor | None]

    def wrong(self, collective: str, root: int) -> int:
        """Fill, call, count the wrong elements of all ranks, and leave zeros for the clock."""
        rank, nranks = dist.get_rank(), dist.get_world_size()
        parts = self.x.chunk(nranks if find_primitive(collective).kind == "parts" else 1)
        for i, part in enumerate(parts):
            part.copy_(_pattern(rank, i, len(part)))
        self.run()
        got, wrong = self.result(), torch.zeros(1, dtype=torch.int64)
        if (sources := _sources(collective, root)) and got is not None:
            wanted = [sum(_pattern(*origin, len(got) // len(sources)) for origin in part) for part in sources]
            wrong += (got.flatten() != torch.cat(wanted)).sum()
        with aside():
            dist.all_reduce(wrong)
        self.x.zero_()
        return int(wrong)


def _pattern(rank: int, part: int, length: int) -> torch.Tensor:
    """Whole numbers from -8 to 8, other ones for every rank and part: sums over 64 ranks stay exact in float32.

    They repeat after _SPREAD elements, so a gibibyte of them needs no int64 of eight.
    """
    period = ((torch.arange(_SPREAD) * 7 + rank * 13 + part * 5) % _SPREAD - 8).float()
    return period.repeat(-(-length // _SPREAD))[:length]


def _sources(collective: str, root: int) -> tuple:
    """For every part of this rank's result: the (rank, part) pairs that it is the sum of."""
    rank, nranks = dist.get_rank(), dist.get_world_size()
    if collective == "send_recv":  # as in nccl-tests: every rank to the next
        return ((((rank - 1) % nranks, 0),),)
    return origins(collective, nranks, root)[rank]


def _input(collective: str, nbytes: int) -> torch.Tensor:
    return torch.zeros(nbytes // ITEM // (dist.get_world_size() if find_primitive(collective).kind == "gathers" else 1))


def _torchs(collective: str, nbytes: int, root: int) -> dict[str, _Side]:
    """The page's own line, out of place where it has an output, in place where it has none or its buffers may overlap."""
    made, rank, nranks = find_primitive(collective), dist.get_rank(), dist.get_world_size()
    x = _input(collective, nbytes)
    if collective == "send_recv":
        out = torch.zeros_like(x)
        return {"out": _Side(x, partial(shift, x, out), lambda: out)}
    sides = {"in" if made.kind == "whole" else "out": prepared(made, x, root)}
    if collective in _CUT:
        names, code = prepared(made, _input(collective, nbytes), root)
        whole = names["out" if collective == "all_gather" else "x"]
        names["x" if collective == "all_gather" else "out"] = whole.chunk(nranks)[rank]
        sides["in"] = names, code
    return {
        side: _Side(names["x"], partial(eval, code, names), partial(_held, made.kind, names))
        for side, (names, code) in sides.items()
    }


def _held(kind: str, names: dict) -> torch.Tensor | None:
    """Where the line of torch left its result: in out, in a root's list of parts, else in x."""
    if "out" in names:
        return names["out"]
    if kind == "gathers":
        return torch.cat(names["parts"]) if names["parts"] else None
    return names["x"]


def _schedules(s: Schedule, nbytes: int) -> dict[str, _Side]:
    """The schedule, played over sends and receives: out of place, and in place where input and output are one buffer."""
    sides = {}
    for side in ("out", "in") if find_primitive(s.collective).kind == "whole" else ("out",):
        x = _input(s.collective, nbytes)
        given = x
        if s.collective == "scatter" and dist.get_rank() != s.root:
            given = x.chunk(s.nranks)[0]
        out = x if side == "in" else execute(s, given)
        sides[side] = _Side(x, partial(execute, s, given, out=out), lambda out=out: out)
    return sides


def header(label: str, what: str) -> str:
    """The lines above the table."""
    half = f"{'time':>9}{'algbw':>8}{'busbw':>8}{'#wrong':>8}"
    units = f"{'(us)':>9}{'(GB/s)':>8}{'(GB/s)':>8}{'':>8}"
    return "\n".join(
        (
            f"# {what} on {label}",
            "# time: the least of all repetitions, each the slowest rank's; median: of the same repetitions",
            "# algbw = size / time, busbw = algbw x the collective's factor; both count one way",
            f"#{'':>54}{'out-of-place':^33}{'in-place':^33}{'median (us)':>20}",
            f"#{'size':>12}{'count':>14}{'type':>10}{'redop':>9}{'root':>9}{half}{half}{'out':>12}{'in':>10}",
            f"#{'(B)':>12}{'(elements)':>14}{'':>28}{units}{units}",
        )
    )


def row(line: Line) -> str:
    """One line of the table."""
    made = find_primitive(line.collective)
    head = f"{line.nbytes:>13}{line.count:>14}{'float':>10}{'sum' if made.reduces else 'none':>9}"
    root = -1 if line.root is None else line.root
    sides = line.out_of_place, line.in_place
    medians = [f"{side.timing.median * 1e6:.2f}" if side and side.timing else "N/A" for side in sides]
    return f"{head}{root:>9}{''.join(_half(line, side) for side in sides)}{medians[0]:>12}{medians[1]:>10}"


def _half(line: Line, side: Side | None) -> str:
    if side is None or side.timing is None:
        return f"{'N/A':>9}{'N/A':>8}{'N/A':>8}{side.wrong if side else 'N/A':>8}"
    algbw, busbw = (bandwidth / GB for bandwidth in line.bandwidths(side.timing.min))
    return f"{side.timing.min * 1e6:>9.2f}{algbw:>8.2f}{busbw:>8.2f}{side.wrong:>8}"


def footer(lines: list[Line]) -> str:
    """nccl-tests' verdict on the data."""
    wrong = sum(line.wrong for line in lines)
    return f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}"
