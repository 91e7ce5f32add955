"""What the op notes cost: a 64 KB all_reduce on 4 ranks with them, without them, and in torch's own DETAIL mode. Chapter: hangs.

    python -m benchmarks.notes [--rounds 20] [--pairs 40] [--calls 5]

Noted and not: the same processes in turns, a pair of blocks of `calls` all_reduces at a time; a pair's ratio is one sample. DETAIL is
read when a group is made, so it has processes of its own, which take their blocks between the others'. A block lasts as long as
on its slowest rank. What the look at strides and values costs (hooks/guarding.py): blocks that take it once more, beside blocks that
do not, for sums and for maxima, which it searches for a NaN. In brackets: where the true median lies in 95 cases of 100. The CPU time
is the calling thread's.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import NamedTuple

import torch
import torch.distributed as dist

from helpers.ranks import Ranks
from helpers.ranks.hooks import noting
from helpers.ranks.hooks.guarding import guard
from helpers.units import KIB, nbytes_text, seconds_text

from .samples import Median, at_least, median_of

NRANKS, NBYTES = 4, 64 * KIB
DETAIL = {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}


class Block(NamedTuple):
    """Seconds of one all_reduce: by the clock, and of the calling thread's CPU time."""

    wall: float
    cpu: float


def pairs_of_blocks(npairs: int, calls: int) -> list[tuple[Block, Block]]:
    """Inside ranks: (noted, not noted), pair by pair; which of them is first changes every time."""
    return _pairs(npairs, [partial(_block, way, calls) for way in (nullcontext, noting.unnoted)])


def guarded_pairs(npairs: int, calls: int, op: dist.ReduceOp.RedOpType) -> list[tuple[Block, Block]]:
    """Inside ranks: (guarded once more, as it is)."""
    check = guard("all_reduce", dist.all_reduce)
    return _pairs(npairs, [partial(_block, nullcontext, calls, op=op, before=one) for one in (check, None)])


def _pairs(npairs: int, ways: list[Callable[[torch.Tensor], Block]]) -> list[tuple[Block, Block]]:
    x, found = torch.ones(NBYTES // 4), []
    dist.barrier()
    for i in range(npairs):
        blocks = {way: way(x) for way in (ways if i % 2 else ways[::-1])}
        found.append(tuple(blocks[way] for way in ways))
    return found


def bare_blocks(nblocks: int, calls: int) -> list[tuple[Block]]:
    """Inside ranks: block by block, without notes."""
    x = torch.ones(NBYTES // 4)
    dist.barrier()
    return [(_block(noting.unnoted, calls, x),) for _ in range(nblocks)]


def _block(
    way: Callable[[], AbstractContextManager],
    calls: int,
    x: torch.Tensor,
    op: dist.ReduceOp.RedOpType = dist.ReduceOp.SUM,
    before: Callable[[tuple, dict], None] | None = None,
) -> Block:
    with way():
        wall, cpu = time.perf_counter(), time.thread_time()
        for _ in range(calls):
            if before:
                before((x,), {"op": op})
            dist.all_reduce(x, op)
        return Block((time.perf_counter() - wall) / calls, (time.thread_time() - cpu) / calls)


def slowest(of_ranks: list[list[tuple[Block, ...]]]) -> list[tuple[Block, ...]]:
    """Of each block: what it took on the rank where it took longest."""
    return [tuple(map(max, zip(*blocks, strict=True))) for blocks in zip(*of_ranks, strict=True)]


@contextmanager
def both() -> Iterator[tuple[Ranks, Ranks]]:
    """Ranks as they are, and ranks in DETAIL mode: both have met, and have run their first collectives."""
    with Ranks(NRANKS, backend="gloo") as plain, Ranks(NRANKS, backend="gloo", env=DETAIL) as detail:
        for ranks in (plain, detail):
            ranks.run(bare_blocks, 2, 10)
        yield plain, detail


class Found(NamedTuple):
    """All blocks, and, round by round, how many times its all_reduce without DETAIL one in DETAIL mode lasted."""

    pairs: list[tuple[Block, Block]]
    detailed: list[Block]
    times: list[float]
    guarded: dict[str, list[tuple[Block, Block]]]

    @property
    def cost(self) -> Median:
        """Percent of an all_reduce that its notes cost."""
        return percent(self.pairs)


def percent(pairs: list[tuple[Block, Block]]) -> Median:
    """By how much the first of a pair is longer."""
    return median_of([100 * (more.wall / less.wall - 1) for more, less in pairs])


def measure(rounds: int, npairs: int, calls: int, say: Callable[[str], object] = print) -> Found:
    """Rounds of pairs with and without notes, then blocks in DETAIL mode."""
    found = Found([], [], [], {"SUM": [], "MAX": []})
    with both() as (plain, detail):
        for number in range(1, rounds + 1):
            now = slowest(plain.run(pairs_of_blocks, npairs, calls))
            slow = [block for (block,) in slowest(detail.run(bare_blocks, npairs, calls))]
            found.pairs.extend(now)
            for op, pairs in found.guarded.items():
                pairs.extend(slowest(plain.run(guarded_pairs, npairs, calls, getattr(dist.ReduceOp, op))))
            found.detailed.extend(slow)
            found.times.append(typical(slow).wall / typical([bare for _, bare in now]).wall)
            say(f"round {number} of {rounds}: notes {found.cost:.1f} %, DETAIL {median_of(found.times):.2f} times")
    return found


def _more_cpu(pairs: list[tuple[Block, Block]]) -> float:
    return max(0.0, median_of([more.cpu - less.cpu for more, less in pairs]).value)


def typical(blocks: list[Block]) -> Block:
    """The medians."""
    return Block(*(median_of(values).value for values in zip(*blocks, strict=True)))


def main(rounds: int = 20, npairs: int = 40, calls: int = 5) -> None:
    """Measure and print. Raises ValueError on a number below 1."""
    for name, value in (("rounds", rounds), ("pairs", npairs), ("calls", calls)):
        at_least(name, value, 1)
    size = nbytes_text(NBYTES)
    print(f"all_reduce of {size}, {NRANKS} ranks, gloo, CPU; {os.cpu_count()} cores; torch {torch.__version__}")
    found = measure(rounds, npairs, calls)
    samples = zip(("with notes", "without", "DETAIL"), (*zip(*found.pairs, strict=True), found.detailed), strict=True)
    middle = {name: typical(list(blocks)) for name, blocks in samples}
    for name, (wall, cpu) in middle.items():
        print(f"{name:<13}{seconds_text(wall):<10}CPU {seconds_text(cpu)}")
    extra = middle["with notes"].cpu - middle["without"].cpu
    share = 100 * extra / middle["without"].wall
    print(f"notes cost   {found.cost:.1f} %, median of {len(found.pairs)} pairs of blocks of {calls}")
    print(f"             {seconds_text(max(0.0, extra))} of CPU an all_reduce, {share:.1f} % of its time")
    for op, pairs in found.guarded.items():
        print(f"its guard    {percent(pairs):.1f} % of a {op}, {seconds_text(_more_cpu(pairs))} of CPU")
    print(f"DETAIL costs {median_of(found.times):.2f} times an all_reduce without it, median of {rounds} rounds")


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.notes", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=40, dest="npairs", help="of blocks, in a round")
    parser.add_argument("--calls", type=int, default=5, help="all_reduces in a block")
    return parser.parse_args(given)


if __name__ == "__main__":
    main(**vars(arguments()))
