"""The exercises of the chapter `ring`."""

from __future__ import annotations

from collections.abc import Callable

from helpers.collectives import Schedule, Transfer, check

from .answer import Answer, NotYetError, judge


def other_way_round(answer: Callable[[int], Schedule]) -> Answer:
    """answer(nranks) must be a ring reduce_scatter that runs downwards: rank r sends to rank r-1, and still ends with chunk r."""
    praise = "Proved for 1 to 16 ranks: every chunk goes round the other way, and rank r still ends with chunk r."
    return judge(
        (f"nranks={n}" for n in range(1, 17)), lambda case: _downwards(answer, int(case.split("=")[1])), praise
    )


def _downwards(answer: Callable[[int], Schedule], nranks: int) -> None:
    schedule = answer(nranks)
    where = f"At nranks={nranks}"
    if not isinstance(schedule, Schedule):
        raise NotYetError(f"{where}: expected a Schedule, got {schedule!r}.")
    if (schedule.collective, schedule.nranks, schedule.nchunks) != ("reduce_scatter", nranks, nranks):
        raise NotYetError(
            f"{where}: expected a reduce_scatter of {nranks} ranks and {nranks} chunks, got {str(schedule).splitlines()[0]!r}."
        )
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
