"""With a switch that adds and multicasts: NVLS in an NVLink switch, SHARP in InfiniBand switches.

A rank sends its data up once and gets the sum down once, so neither steps nor bytes grow with P. A switch is a place beyond the
ranks: empty before, owed nothing after; many may add into it at once, and it has a port for every peer.
These need the switch: where `execute` plays them, ranks do its work, and the times are no switch's.
Chunks are cut into SLICES by default, since a switch pays only where data goes up and down at once; so does NCCL, whose buffers have
8 slots (NCCL_STEPS in src/include/device.h). With 8 the ring wins on 4 GPUs and the switch from 6 on, from 64 MiB on at any size;
measured at 8 GiB, NCCL changes over at 5 GPUs on H200 and at 6 on B200 (the table nccl-tests-h200-b200-nvls in `facts`).
Chapters: inside-nccl, hierarchy.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ..about import algorithm
from ..forms import P, S, ceil, minimum
from ..profiles import LoadLike, Tell
from ..schedule import Schedule
from ..transfers import Row, Step, transfers, whole

NVLS = "NVIDIA/nccl src/device/all_reduce.h (NCCL_ALGO_NVLS), since 2.17"
SHARP = 'Graham et al., "Scalable hierarchical aggregation protocol (SHArP)", 2016'

SLICES = 8
Hop = list[Row]  # all of one hop may go at once


def _loads(up: tuple[int, ...], down: tuple[int, ...]) -> Tell:
    """The profile of hops that follow each other slice by slice. up, down: the chunks on a rank's way up and down in each hop."""

    def loads(nranks: int, slices: int = SLICES) -> Iterator[tuple[int, int, Fraction]]:
        ways = [[nranks if n < 0 else n for n in way] for way in (up, down)]
        for t in range(len(up) + slices - 1):
            busiest = max(sum(n for i, n in enumerate(way) if 0 <= t - i < slices) for way in ways)
            yield 1, 1, Fraction(busiest, nranks * slices)

    return loads


ALL = -1  # every chunk


@algorithm(
    "reduce_scatter",
    "nvls",
    steps=1 + S / P,
    moves=1,
    loads=_loads((ALL, 0), (0, 1)),
    bottleneck="the way up: every rank's whole buffer goes into the switch",
    used_by="NCCL (NVLS)",
    chapter="inside-nccl",
    source=NVLS,
)
def reduce_scatter(nranks: int, slices: int = SLICES) -> Schedule:
    """Rank r reads chunk r through the switch, which fetches it from all ranks and adds (multimem.ld_reduce).

    slices: chunks are cut in so many, which follow each other.
    """
    return _sliced(nranks, _read_sums(nranks), slices).named("reduce_scatter", "nvls")


@algorithm(
    "all_gather",
    "nvls",
    steps=1 + S / P,
    moves=1,
    loads=_loads((1, 0), (0, ALL)),
    bottleneck="the way down: every rank gets the whole buffer from the switch, its own chunk too",
    used_by="NCCL (NVLS)",
    chapter="inside-nccl",
    source=NVLS,
)
def all_gather(nranks: int, slices: int = SLICES) -> Schedule:
    """Rank r stores chunk r into the switch, which hands it to all ranks (multimem.st). slices: as in reduce_scatter."""
    return _sliced(nranks, _store_all(nranks), slices).named("all_gather", "nvls")


@algorithm(
    "all_reduce",
    "nvls",
    steps=3 + S / P,
    moves=1 + 1 / P,
    loads=_loads((ALL, 0, 1, 0), (0, 1, 0, ALL)),
    bottleneck="the links to the switch, alike: N up and N/P down, then N/P up and N down",
    used_by="NCCL (NVLS), its default on 8 H100",
    chapter="inside-nccl",
    source=NVLS,
)
def all_reduce(nranks: int, slices: int = SLICES) -> Schedule:
    """Rank r reads the sum of chunk r through the switch and stores it back through the switch to all.

    slices: with many, as in NCCL, data goes up and down at once, and the time nears that of 1 + 1/P buffers one way.
    """
    return _sliced(nranks, _read_sums(nranks) + _store_all(nranks), slices).named("all_reduce", "nvls")


def _read_sums(nranks: int) -> list[Hop]:
    whole("nranks", nranks, 1)
    ranks, switch = range(nranks), nranks
    return [[(r, switch, c, "reduce") for r in ranks for c in ranks], [(switch, r, r, "copy") for r in ranks]]


def _store_all(nranks: int) -> list[Hop]:
    whole("nranks", nranks, 1)
    ranks, switch = range(nranks), nranks
    return [[(r, switch, r, "copy") for r in ranks], [(switch, r, c, "copy") for r in ranks for c in ranks]]


def _sliced(nranks: int, hops: list[Hop], slices: int) -> Schedule:
    whole("slices", slices, 1)
    return Schedule(None, None, nranks, nranks * slices, _pipelined(nranks, hops, slices), nswitches=1)


def _pipelined(nranks: int, hops: list[Hop], slices: int) -> tuple[Step, ...]:
    """In step t, slice t - i of every chunk takes hop i."""
    if nranks == 1:
        return ()
    return transfers(
        (
            (src, dst, chunk * slices + t - i, op)
            for i, hop in enumerate(hops)
            if 0 <= t - i < slices
            for src, dst, chunk, op in hop
        )
        for t in range(len(hops) + slices - 1)
    )


def _climbs(nranks: int, nchunks: int = SLICES, radix: int = 8) -> list[LoadLike]:
    levels = 1 if nranks <= radix else 2
    return [(2 * levels + nchunks - 1, 1, Fraction(1, nchunks))]


@algorithm(
    "all_reduce",
    "sharp",
    steps=2 + 2 * minimum(1, ceil(P / 8) - 1) + S - 1,
    moves=1,
    loads=_climbs,
    bottleneck="none: every link carries the buffer once each way",
    used_by="NCCL (CollNet)",
    chapter="hierarchy",
    source=SHARP,
)
def sharp(nranks: int, nchunks: int = SLICES, radix: int = 8) -> Schedule:
    """Leaf switches of `radix` ranks add, one switch above them adds their sums, and the total comes down the same way.

    Pipelined over nchunks. With P up to radix one switch is enough, and two steps less.
    """
    whole("nranks", nranks, 1)
    whole("nchunks", nchunks, 1)
    whole("radix", radix, 1)
    leaves = -(-nranks // radix)
    top = nranks + leaves
    levels = [[(r, nranks + r // radix) for r in range(nranks)]]
    if leaves > 1:
        levels.append([(nranks + i, top) for i in range(leaves)])
    climb: list[Hop] = [[(a, b, 0, "reduce") for a, b in level] for level in levels]
    fall: list[Hop] = [[(b, a, 0, "copy") for a, b in level] for level in reversed(levels)]
    steps = _pipelined(nranks, [*climb, *fall], nchunks)
    return Schedule("all_reduce", "sharp", nranks, nchunks, steps, nswitches=leaves + (leaves > 1))
