"""The exercises of the chapter `trees`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from helpers.collectives import CATALOGUE, Schedule, check, double_tree, price_loads
from helpers.facts import LINKS, Link
from helpers.units import KIB, MIB, nbytes_text, seconds_text

from .answer import Answer, NotYetError, judge

_PIPELINE = CATALOGUE["broadcast", "binary-tree"]
_MOST = 512  # chunks; the best of every case below lies well under it
_SIZES = (KIB, MIB, 64 * MIB)


def binomial_broadcast(answer: Callable[[int, int], Schedule]) -> Answer:
    """answer(nranks, root) must be a broadcast in ⌈log2 P⌉ steps in which every rank has one partner at a time."""
    cases = (f"nranks={n}, root={root}" for n in range(1, 17) for root in range(n))
    praise = "Proved for 1 to 16 ranks and every root: as many rounds as doubling takes, and one partner at a time."
    return judge(cases, lambda case: _broadcast(answer, *_numbers(case)), praise)


def _numbers(case: str) -> tuple[int, int]:
    return tuple(int(part.split("=")[1]) for part in case.split(", "))


def _broadcast(answer: Callable[[int, int], Schedule], nranks: int, root: int) -> None:
    where, schedule = f"At nranks={nranks}, root={root}", answer(nranks, root)
    if not isinstance(schedule, Schedule):
        raise NotYetError(f"{where}: expected a Schedule, got {schedule!r}.")
    wanted, got = ("broadcast", nranks, root), (schedule.collective, schedule.nranks, schedule.root)
    if got != wanted:
        raise NotYetError(
            f"{where}: expected a broadcast of {nranks} ranks from rank {root}, got {str(schedule).splitlines()[0]!r}."
        )
    for number, step in enumerate(schedule.steps, 1):
        _refuse_crowds(where, number, step)
    check(schedule)
    rounds = (nranks - 1).bit_length()
    if len(schedule.steps) > rounds:
        raise NotYetError(
            f"{where}: everybody has it, but after {len(schedule.steps)} steps; doubling takes {rounds}."
            " Hint: who has the buffer already, and is idle?"
        )


def _refuse_crowds(where: str, number: int, step: Iterable) -> None:
    """A rank talks to one partner in a step: without that rule one step from the root to everybody would do."""
    for verb, ranks in (("sends to", Counter(t.src for t in step)), ("receives from", Counter(t.dst for t in step))):
        rank, times = ranks.most_common(1)[0]
        if times > 1:
            raise NotYetError(
                f"{where}: in step {number} rank {rank} {verb} {times} partners; it has one port each way."
            )


def best_chunks(answer: Callable[[int, int, Link], int]) -> Answer:
    """answer(nranks, nbytes, link) must be how many chunks to cut a broadcast down the binary tree into; 5 % over the best will do."""
    links = [LINKS[slug].by("Simple") for slug in ("nvlink-4", "infiniband-ndr")]
    cases = [(n, nbytes, link) for n in (3, 8, 64) for nbytes in _SIZES for link in links]
    praise = "Within 5 % of the best at 3, 8 and 64 ranks, from 1 KiB to 64 MiB, on two links."
    return judge(cases, lambda case: _chunks(answer, *case), praise)


def _chunks(answer: Callable[[int, int, Link], int], nranks: int, nbytes: int, link: Link) -> None:
    where, nchunks = f"At {nranks} ranks, {nbytes_text(nbytes)}, {link.name}", answer(nranks, nbytes, link)
    if isinstance(nchunks, bool) or not isinstance(nchunks, int) or nchunks < 1:
        raise NotYetError(f"{where}: expected a whole number of chunks, 1 or more, got {nchunks!r}.")
    cost = {s: _seconds(nranks, s, nbytes, link) for s in (*_scan(), nchunks)}
    best = min(cost, key=cost.get)
    if cost[nchunks] > 1.05 * cost[best]:
        raise NotYetError(
            f"{where}: S = {nchunks} takes {seconds_text(cost[nchunks])}, S = {best} takes {seconds_text(cost[best])}."
            " Hint: write the price as a function of S, and set its derivative to 0."
        )


def _scan() -> Iterable[int]:
    """Every number up to 64, then in steps of about 1 %."""
    nchunks = 1
    while nchunks < _MOST:
        yield nchunks
        nchunks += max(1, nchunks // 100)


def _seconds(nranks: int, nchunks: int, nbytes: int, link: Link) -> float:
    return price_loads(_PIPELINE.profile(nranks, 0, nchunks), nbytes, link)


def inner_in_both(answer: Callable[[int], Iterable[int]]) -> Answer:
    """answer(nranks) must be the ranks that have a child in both trees of `double_tree(nranks)`."""
    praise = "Right for 1 to 64 ranks: you know where the neat story holds, and who breaks it."
    cases = (f"nranks={n}" for n in range(1, 65))
    return judge(cases, lambda case: _inner(answer, int(case.split("=")[1])), praise)


def _inner(answer: Callable[[int], Iterable[int]], nranks: int) -> None:
    got = sorted(answer(nranks))
    first, second = ({up for up in tree if up >= 0} for tree in double_tree(nranks))
    want = sorted(first & second)
    if got != want:
        trees = " and ".join(str(tree) for tree in double_tree(nranks))
        raise NotYetError(f"At nranks={nranks}: you say {got}, but it is {want}: the parents are {trees}.")
