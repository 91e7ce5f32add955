"""The exercises of the chapter `ring`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

from helpers.collectives import CATALOGUE, Schedule, Transfer, check, crossover, price
from helpers.facts import LINKS
from helpers.units import nbytes_text, parse_nbytes, seconds_text

from .answer import Answer, NotYetError, judge


def other_way_round(answer: Callable[[int], Schedule]) -> Answer:
    """answer(nranks) must be a ring reduce_scatter that runs downwards: rank r sends to rank r-1, and still ends with chunk r."""
    praise = "Proved for 1 to 16 ranks: every chunk goes round the other way, and rank r still ends with chunk r."
    return judge(_sizes(1), lambda case: _downwards(answer, int(case.split("=")[1])), praise)


def both_ways(answer: Callable[[int], Schedule]) -> Answer:
    """answer(nranks) must be an all_reduce between neighbours that loads both directions of every wire alike, in 2(P-1) steps."""
    praise = (
        "Proved for 2 to 16 ranks: no more steps than one ring, and every wire carries as much one way as the other."
    )
    return judge(_sizes(2), lambda case: _shared(answer, int(case.split("=")[1])), praise)


def crossing(answer: int | str) -> Answer:
    """answer: the size ("3 MiB" or bytes) from which on the ring beats the binomial tree, both with Simple; within 10 %.

    8 ranks on InfiniBand NDR.
    """
    praise = "Within a tenth of the size at which both cost the same: below it latencies decide, above it bytes."
    return judge([str(answer)], lambda _: _near(answer), praise)


def _sizes(least: int) -> tuple[str, ...]:
    return tuple(f"nranks={n}" for n in range(least, 17))


def _proved(answer: Callable[[int], Schedule], collective: str, nranks: int) -> Schedule:
    """The answer's schedule, if it is one of that collective and size."""
    schedule = answer(nranks)
    if not isinstance(schedule, Schedule):
        raise NotYetError(f"At nranks={nranks}: expected a Schedule, got {schedule!r}.")
    if (schedule.collective, schedule.nranks) != (collective, nranks):
        wanted = f"{'an' if collective[0] == 'a' else 'a'} {collective} of {nranks} ranks"
        raise NotYetError(f"At nranks={nranks}: expected {wanted}, got {str(schedule).splitlines()[0]!r}.")
    return schedule


# 1 -------------------------------------------------------------------------------------------------------------------
def _downwards(answer: Callable[[int], Schedule], nranks: int) -> None:
    schedule, where = _proved(answer, "reduce_scatter", nranks), f"At nranks={nranks}"
    for number, step in enumerate(schedule.steps, 1):
        for t in step:
            _refuse_upwards(where, number, t, nranks)
    check(schedule)
    if len(schedule.steps) != nranks - 1:
        raise NotYetError(f"{where}: it works, but in {len(schedule.steps)} steps; a ring needs {nranks - 1}.")


def _refuse_upwards(where: str, number: int, t: Transfer, nranks: int) -> None:
    wanted = (t.src - 1) % nranks
    if t.dst != wanted:
        raise NotYetError(
            f"{where}: step {number} sends {t}, from rank {t.src} to rank {t.dst}; the other way round goes to rank {wanted}."
            " Hint: follow one chunk. Which rank must it start at to end at its owner after P-1 hops downwards?"
        )


# 2 -------------------------------------------------------------------------------------------------------------------
def _shared(answer: Callable[[int], Schedule], nranks: int) -> None:
    schedule, where = _proved(answer, "all_reduce", nranks), f"At nranks={nranks}"
    for number, step in enumerate(schedule.steps, 1):
        for t in step:
            if (t.src - t.dst) % nranks not in (1, nranks - 1):
                raise NotYetError(
                    f"{where}: step {number} sends {t}, and rank {t.dst} is no neighbour of rank {t.src}."
                )
    check(schedule)
    if len(schedule.steps) > 2 * (nranks - 1):
        raise NotYetError(
            f"{where}: it works, in {len(schedule.steps)} steps; two rings side by side need {2 * (nranks - 1)}."
            " Hint: `a + b` is one after the other, `a | b` both at once."
        )
    _refuse_crowded(where, schedule)


def _refuse_crowded(where: str, s: Schedule) -> None:
    carried = Counter((t.src, t.dst) for step in s.steps for t in step)
    (src, dst), most = min(carried.items(), key=lambda item: (-item[1], item[0]))
    fair = Fraction(2 * (s.nranks - 1), s.nranks * min(2, s.nranks - 1))
    if Fraction(most, s.nchunks) > fair:
        raise NotYetError(
            f"{where}: rank {src} sends {most / s.nchunks:.3g} of the buffer to rank {dst}, and"
            f" {carried[dst, src] / s.nchunks:.3g} comes back; shared fairly it is {float(fair):.3g} each way."
            " Hint: cut every chunk in two, and send one half round each way."
        )


# 3 -------------------------------------------------------------------------------------------------------------------
def _near(answer: int | str) -> None:
    nbytes = parse_nbytes(answer)
    ring, tree, link = (
        CATALOGUE["all_reduce", "ring"](8),
        CATALOGUE["all_reduce", "binomial"](8),
        LINKS["infiniband-ndr"].by("Simple"),
    )
    truth = crossover(tree, ring, link)
    if not 0.9 <= nbytes / truth <= 1.1:
        by_ring, by_tree = (seconds_text(price(s, nbytes, link).seconds) for s in (ring, tree))
        wins, way = ("tree", "larger") if nbytes < truth else ("ring", "smaller")
        raise NotYetError(
            f"At {nbytes_text(nbytes)} the ring takes {by_ring} and the tree {by_tree}, so the {wins} wins: look at {way} sizes."
        )
