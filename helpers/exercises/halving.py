"""The exercises of the chapter `halving-doubling`."""

from __future__ import annotations

from collections.abc import Callable

from helpers.collectives import CATALOGUE, Schedule, check, crossover
from helpers.facts import LINKS, Link

from .answer import Answer, NotYetError, judge

POWERS = (1, 2, 4, 8, 16, 32, 64)


def near_first(answer: Callable[[int], Schedule]) -> Answer:
    """answer(nranks), for powers of two: a reduce_scatter that halves with the nearest partner first; rank r still ends with chunk r."""
    praise = "Proved for 1 to 64 ranks: the longest messages stay with the neighbour, and every rank ends with its own chunk."
    return judge(_cases(POWERS), lambda case: _near(answer, _number(case)), praise)


def _near(answer: Callable[[int], Schedule], nranks: int) -> None:
    bits = nranks.bit_length() - 1
    schedule = _asked(answer, "reduce_scatter", nranks)
    for number, step in enumerate(schedule.steps[:bits], 1):
        for t in step:
            wanted = t.src ^ (1 << number - 1)
            if t.dst != wanted:
                raise NotYetError(
                    f"At nranks={nranks}: step {number} sends {t}; there rank {t.src} exchanges with rank {wanted}."
                    " Hint: the catalogue's own has far partners first. Give its ranks other names, and then its chunks."
                )
    check(schedule)
    _costs(schedule, nranks, bits, halves=1)


def no_fold(answer: Callable[[int], Schedule]) -> Answer:
    """answer(nranks), for any number: an all_reduce in 2⌈log2 P⌉ steps in which no rank sends more than 2(P-1)/P of the buffer."""
    praise = "Proved for 1 to 33 ranks: as few bytes as a ring, in a logarithm of steps, and no rank is left over."
    return judge(_cases(range(1, 34)), lambda case: _folded(answer, _number(case)), praise)


def _folded(answer: Callable[[int], Schedule], nranks: int) -> None:
    schedule = _asked(answer, "all_reduce", nranks)
    check(schedule)
    _costs(schedule, nranks, 2 * (nranks - 1).bit_length(), halves=2)


def overtakes(answer: Callable[[int, Link], float]) -> Answer:
    """answer(nranks, link): the nbytes from which halving-doubling costs no more than recursive doubling, for powers of two from 4.

    link: one protocol's line, Simple's, so that one alpha and one beta are the whole price, and the call cancels.
    """
    cases = [f"nranks={nranks} on {slug}" for nranks in POWERS[2:] for slug in LINKS]
    praise = f"Your formula and the bisection agree to the byte, for 4 to 64 ranks on {len(LINKS)} links."
    return judge(cases, lambda case: _overtaken(answer, case), praise)


def _overtaken(answer: Callable[[int, Link], float], case: str) -> None:
    nranks, link = _number(case), LINKS[case.split(" on ")[1]].by("Simple")
    short, long = (CATALOGUE["all_reduce", name](nranks=nranks) for name in ("recursive-doubling", "halving-doubling"))
    got, want = answer(nranks, link), crossover(short, long, link)
    if isinstance(got, bool) or not isinstance(got, (int, float)):
        raise NotYetError(f"At {case}: expected a number of bytes, got {got!r}.")
    if not abs(got - want) <= 1:
        raise NotYetError(
            f"At {case}: {got:,.0f} bytes, the prices meet at {want:,}. Hint: write both prices as"
            " call + latencies * alpha + buffers * nbytes * beta, and solve for nbytes."
        )


def the_way(answer: Callable[[int, int, int], list[int]]) -> Answer:
    """answer(src, dst, nranks): every rank that the block from src to dst visits in Bruck's all_to_all, src first and dst last."""
    cases = (f"nranks={n}, from {src} to {dst}" for n in range(1, 14) for src in range(n) for dst in range(n))
    praise = "Right for every block among 1 to 13 ranks: a block takes one hop for every 1 in its distance, the shortest first."
    return judge(cases, lambda case: _visited(answer, case), praise)


def _visited(answer: Callable[[int, int, int], list[int]], case: str) -> None:
    nranks = _number(case)
    src, dst = (int(word) for word in case.split() if word.isdigit())
    block = src * nranks + dst
    moves = [t for step in CATALOGUE["all_to_all", "bruck"](nranks=nranks).steps for t in step if t.chunk == block]
    got, want = answer(src, dst, nranks), [src, *(t.dst for t in moves)]
    if list(got) != want:
        raise NotYetError(
            f"At {case}: {list(got)}, the block visits {want}. Hint: how far has it to go, and what is that in binary?"
        )


def _asked(answer: Callable[[int], Schedule], collective: str, nranks: int) -> Schedule:
    schedule = answer(nranks)
    if not isinstance(schedule, Schedule):
        raise NotYetError(f"At nranks={nranks}: expected a Schedule, got {schedule!r}.")
    if (schedule.collective, schedule.nranks, schedule.nswitches) != (collective, nranks, 0):
        hint = "" if schedule.collective else " What is composed has no collective until .named(collective, algorithm)."
        raise NotYetError(
            f"At nranks={nranks}: expected {collective} of {nranks} ranks and no switch,"
            f" got {str(schedule).splitlines()[0]!r}.{hint}"
        )
    return schedule


def _costs(schedule: Schedule, nranks: int, steps: int, halves: int) -> None:
    """It takes at most `steps` steps, and no rank sends or receives more than (P-1)/P of the buffer in each half."""
    if len(schedule.steps) > steps:
        raise NotYetError(f"At nranks={nranks}: it works, but in {len(schedule.steps)} steps where {steps} would do.")
    most, buffer = max(*schedule.sent(), *schedule.received()), schedule.nchunks
    if most * nranks > halves * (nranks - 1) * buffer:
        raise NotYetError(
            f"At nranks={nranks}: it works, but some rank moves {most} chunks of {buffer}:"
            f" {most / buffer:.3g} of the buffer, where {halves * (nranks - 1) / nranks:.3g} would do."
        )


def _cases(numbers) -> list[str]:
    return [f"nranks={nranks}" for nranks in numbers]


def _number(case: str) -> int:
    return int(case.removeprefix("nranks=").split(",")[0].split(" ")[0])
