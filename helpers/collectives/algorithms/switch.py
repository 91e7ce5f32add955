"""With a switch that adds and multicasts: NVLS in an NVLink switch, SHARP in InfiniBand switches.

A rank sends its data up once and gets the sum down once, so neither steps nor bytes grow with P. A switch is a place beyond the
ranks: empty before, owed nothing after; many may add into it at once, and it has a port for every peer.
Source: NVIDIA/nccl src/device/all_reduce.h (NVLS: runNvls), since 2.17; Graham et al., "Scalable hierarchical aggregation
protocol (SHArP)", 2016. No send and receive can play these: they need the switch. Chapters: inside-nccl, hierarchy.
"""

from __future__ import annotations

from fractions import Fraction

from ..profile import profiled
from ..schedule import Schedule, Step, Transfer, _whole


def _up_to_one(nranks: int):
    """Everybody's whole buffer up, or everything down; then the shares."""
    return [(1, 1, 1), (1, 1, Fraction(1, nranks))]


@profiled(_up_to_one)
def reduce_scatter(nranks: int) -> Schedule:
    """Rank r reads chunk r through the switch, which fetches it from all ranks and adds (multimem.ld_reduce).

    Steps: 2
    Moves: 1
    Bottleneck: the way up: every rank's whole buffer goes into the switch
    Used by: NCCL (NVLS)
    Chapter: inside-nccl
    """
    return _schedule(nranks, _read_sums(nranks)).named("reduce_scatter", "nvls")


@profiled(lambda nranks: _up_to_one(nranks)[::-1])
def all_gather(nranks: int) -> Schedule:
    """Rank r stores chunk r into the switch, which hands it to all ranks (multimem.st).

    Steps: 2
    Moves: 1
    Bottleneck: the way down: every rank gets the whole buffer from the switch, its own chunk too
    Used by: NCCL (NVLS)
    Chapter: inside-nccl
    """
    return _schedule(nranks, _store_all(nranks)).named("all_gather", "nvls")


@profiled(lambda nranks: _up_to_one(nranks) + _up_to_one(nranks)[::-1])
def all_reduce(nranks: int) -> Schedule:
    """Rank r reads the sum of chunk r through the switch and stores it back through the switch to all.

    Steps: 4
    Moves: 1+1/P
    Bottleneck: the links to the switch, alike: N up and N/P down, then N/P up and N down
    Used by: NCCL (NVLS), its default on 8 H100
    Chapter: inside-nccl
    """
    return _schedule(nranks, _read_sums(nranks) + _store_all(nranks)).named("all_reduce", "nvls")


def _read_sums(nranks: int) -> tuple[Step, ...]:
    ranks, switch = range(nranks), nranks
    up = tuple(Transfer(r, switch, c, "reduce") for r in ranks for c in ranks)
    return up, tuple(Transfer(switch, r, r) for r in ranks)


def _store_all(nranks: int) -> tuple[Step, ...]:
    ranks, switch = range(nranks), nranks
    return tuple(Transfer(r, switch, r) for r in ranks), tuple(Transfer(switch, r, c) for r in ranks for c in ranks)


def _schedule(nranks: int, steps: tuple[Step, ...]) -> Schedule:
    return Schedule(None, None, nranks, nranks, steps if nranks > 1 else (), nswitches=1)


def _climbs(nranks: int, nchunks: int = 1, radix: int = 8):
    levels = 1 if nranks <= radix else 2
    return [(2 * levels + nchunks - 1, 1, Fraction(1, nchunks))]


@profiled(_climbs)
def sharp(nranks: int, nchunks: int = 1, radix: int = 8) -> Schedule:
    """Leaf switches of `radix` ranks add, one switch above them adds their sums, and the total comes down the same way.

    Pipelined over nchunks. With P up to radix one switch is enough, and two steps less.

    Steps: 2+2min(1,⌈P/8⌉-1)+S-1
    Moves: 1
    Bottleneck: none: every link carries the buffer once each way
    Used by: NCCL (CollNet), MPI on InfiniBand switches
    Chapter: hierarchy
    """
    _whole("nranks", nranks, 1), _whole("nchunks", nchunks, 1), _whole("radix", radix, 1)
    leaves = -(-nranks // radix)
    top = nranks + leaves
    leaf = [(r, nranks + r // radix) for r in range(nranks)]
    levels = [leaf, [(nranks + i, top) for i in range(leaves)]] if leaves > 1 else [leaf]
    climb = [[(a, b, "reduce") for a, b in level] for level in levels]
    fall = [[(b, a, "copy") for a, b in level] for level in reversed(levels)]
    hops = [*climb, *fall] if nranks > 1 else []
    steps = tuple(
        tuple(Transfer(a, b, t - i, op) for i, hop in enumerate(hops) if 0 <= t - i < nchunks for a, b, op in hop)
        for t in range(len(hops) + nchunks - 1 if hops else 0)
    )
    return Schedule("all_reduce", "sharp", nranks, nchunks, steps, nswitches=leaves + (leaves > 1))
