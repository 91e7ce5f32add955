"""A reader's times as a curve, whatever they came as. Chapter: yours."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Any

from helpers.nccl import NcclTable
from helpers.nccl.output.tables.fits import NOT_IN_PLACE
from helpers.yours.networks import Network
from helpers.yours.places import Place, found_place
from helpers.yours.tables.published import bus_factor
from helpers.yours.verdict import Point

OFF = 0.5  # of a result of nccl-tests up to 2.11, whose numbers are about 1: rounding is a hundred times less
ROUNDED = 0.01  # of the best, by which an average may differ from that of the rows


@dataclass(frozen=True)
class Curve:
    """What the verdict needs of a table. collective, nranks, nccl: None where the text does not say.

    place: the machine that the list of devices tells; gpus: their names; hosts: how many, 0 where there is no such list. average:
    of busbw. halves: (nbytes, busbw) out of place and in place, those that were run. broken, cut: of NcclTable. groups: of
    NCCL_TESTS_SPLIT, which ran at once; place, hosts and nranks are of one. network: between nodes, by a log. partial: the average is of
    more rows. off: how far results are off where nothing works in place. each: GPUs that one thread starts.
    """

    what: str
    collective: str | None
    nranks: int | None
    nccl: str | None
    points: tuple[Point, ...]
    place: Place | None = None
    hosts: int = 0
    gpus: tuple[str, ...] = ()
    average: float | None = None
    wrong: bool = False
    halves: tuple[tuple[tuple[int, float], ...], ...] = ()
    broken: int = 0
    cut: bool = False
    groups: int = 1
    network: Network | None = None
    partial: bool = False
    off: float = 0.0
    each: int = 1

    @property
    def best(self) -> Point:
        """The size with the highest busbw."""
        return max(self.points, key=lambda point: point.busbw)

    @property
    def program(self) -> str:
        """The nccl-tests program that would run it again."""
        return f"{self.collective or 'all_reduce'}_perf"


def curve_of(table: NcclTable, network: Network | None = None) -> Curve:
    """Out of place where there is that half. A size without bytes or without a time is left out. network: as a log beside it tells."""
    points = []
    for row in table.rows:
        timing = row.timings[0] if row.timings else None
        seconds = timing and (timing.seconds or (row.nbytes / timing.algbw if timing.algbw else None))
        if timing and seconds and row.nbytes:
            points.append(point_of(row.nbytes, seconds, table.collective, table.nranks, timing.busbw))
    works = table.collective not in NOT_IN_PLACE
    checked = [timing for row in table.rows for timing in (row.timings if works else [row.out_of_place]) if timing]
    wrong = any(timing.wrong or (table.out_of_bounds is None and (timing.error or 0.0) >= OFF) for timing in checked)
    group = [device for device in table.devices if device.group == table.devices[0].group]
    hosts, groups = {device.host for device in group}, len({device.group for device in table.devices}) or 1
    place = found_place(group)
    return Curve(
        str(table) + _split(groups, len(hosts), len(group)),
        table.collective,
        table.nranks,
        table.nccl,
        quickest(points),
        network.joining(place) if network and place else place,
        len(hosts),
        tuple(dict.fromkeys(device.name for device in table.devices if device.name)),
        table.average_busbw,
        wrong or bool(table.out_of_bounds),
        tuple(half for half in (_half(table, "out_of_place"), _half(table, "in_place")) if half),
        table.broken,
        table.cut,
        groups,
        network,
        _of_more(table),
        0.0 if works else max((row.in_place.error or 0.0 for row in table.rows if row.in_place), default=0.0),
        table.settings.ngpus if table.settings else 1,
    )


def _of_more(table: NcclTable) -> bool:
    """Whether the table's average is not that of its rows."""
    busbw = [timing.busbw for row in table.rows for timing in row.timings]
    if not (table.elided and busbw and table.average_busbw):
        return False
    return abs(fmean(busbw) - table.average_busbw) > ROUNDED * max(busbw)


def _half(table: NcclTable, name: str) -> tuple[tuple[int, float], ...]:
    """(nbytes, busbw) by size."""
    points = []
    for row in table.rows:
        timing = getattr(row, name)
        if timing and row.nbytes and (seconds := timing.seconds or row.nbytes / (timing.algbw or 1.0)):
            points.append(point_of(row.nbytes, seconds, table.collective, table.nranks, timing.busbw))
    return tuple((point.nbytes, point.busbw) for point in quickest(points))


def _split(groups: int, hosts: int, ranks: int) -> str:
    """What NCCL_TESTS_SPLIT did, by the groups behind the ranks."""
    if groups < 2:
        return ""
    inside = "each inside one node" if hosts == 1 else f"each of {ranks // hosts} a node"
    rails = f"each one GPU of {hosts} nodes, so along the rails" if ranks == hosts > 1 else inside
    return f", in {groups} groups at once (NCCL_TESTS_SPLIT): {rails}"


def curve_of_bench(result: Any) -> Curve:
    """A result of helpers.ranks' bench or sweep: rows with nbytes, seconds and busbw; collective and nranks where it has them.

    Rows without a time, as of ranks that share a GPU, are left out.
    """
    points = [Point(row.nbytes, row.seconds, row.busbw) for row in result.rows if row.seconds and row.nbytes]
    collective, nranks = getattr(result, "collective", None), getattr(result, "nranks", None)
    return Curve(f"{collective or 'a collective'}, measured here", collective, nranks, None, quickest(points))


def quickest(points: list[Point]) -> tuple[Point, ...]:
    """By size; of a size that was taken more than once, or under several settings, the quickest."""
    found: dict[int, Point] = {}
    for point in points:
        found[point.nbytes] = min(point, found.get(point.nbytes, point), key=lambda one: one.seconds)
    return tuple(found[nbytes] for nbytes in sorted(found))


def point_of(nbytes: int, seconds: float, collective: str | None, nranks: int | None, printed: float) -> Point:
    """busbw anew, as two decimals are few at small sizes; as printed where the collective is not known."""
    factor = bus_factor(collective, nranks)
    return Point(nbytes, seconds, printed if factor is None else nbytes / seconds * factor)
