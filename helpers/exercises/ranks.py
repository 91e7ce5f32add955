"""The exercises of the chapter `ranks`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import turns
from .answer import Answer, NotYetError, judge

ROUNDS = 3  # one barrier after the other, on the same store
PATIENCE = 6  # turns that each of the others gets before the late rank comes
ENOUGH = 60  # turns per rank and round in which everybody must be through


class Case(NamedTuple):
    """`late` comes to every round after all others; `quick` gets several turns for each one of the others."""

    nranks: int
    late: int
    quick: int

    def __str__(self) -> str:
        return f"{self.nranks} rank{'s' if self.nranks > 1 else ''}, rank {self.late} always late"


def store_barrier(answer: turns.Answer) -> Answer:
    """answer(store, rank, nranks) must be a barrier: it returns on no rank before all have called it, and then on all of them.

    The store has set, get, add, wait and check. The same store serves three barriers in a row.
    """
    praise = f"A barrier for 1 to 4 ranks, whoever is late, and {ROUNDS} times in a row on one store."
    with turns.without_sleep():
        return judge(_cases(), lambda case: _rehearse(answer, case), praise)


def _cases() -> Iterator[Case]:
    for nranks in range(1, 5):
        for late in range(nranks):
            for quick in sorted({late, (late + 1) % nranks}):
                yield Case(nranks, late, quick)


def _rehearse(answer: turns.Answer, case: Case) -> None:
    data: dict[str, bytes] = {}
    ranks = [turns.Rank(rank, case.nranks, answer, data, ROUNDS) for rank in range(case.nranks)]
    try:
        for rank in ranks:
            rank.begin()
        for number in range(1, ROUNDS + 1):
            _play_round(ranks, case, number)
    finally:
        for rank in ranks:
            rank.dismiss()


def _play_round(ranks: list[turns.Rank], case: Case, number: int) -> None:
    """First everybody but the late rank, who must all get stuck; then all of them, who must all get through."""
    others = [rank for rank in ranks if rank.rank != case.late]
    for _ in range(PATIENCE):
        _give_turns(ranks, others, case, number)
    for _ in range(ENOUGH):
        if all(rank.passed >= number for rank in ranks):
            return
        _give_turns(ranks, ranks, case, number)
    _explain(ranks, case, number)


def _give_turns(ranks: list[turns.Rank], to: list[turns.Rank], case: Case, number: int) -> None:
    """Round the table once. Who is early may run ahead into the next round; the late rank never does."""
    for rank in to:
        for _ in range(4 if rank.rank == case.quick else 1):
            if rank.ready and (rank.rank != case.late or rank.passed < number):
                rank.turn()
                _look(ranks, rank, case)


def _look(ranks: list[turns.Rank], moved: turns.Rank, case: Case) -> None:
    """After every turn: has the rank raised, or passed a barrier at which somebody is still missing?"""
    if moved.error is not None:
        raise NotYetError(f"At {case}: rank {moved.rank} raises {type(moved.error).__name__}: {moved.error}")
    missing = [rank.rank for rank in ranks if rank.entered < moved.passed]
    if missing:
        raise NotYetError(
            f"At {case}: in round {moved.passed} rank {moved.rank} passes, and rank {missing[0]} has not arrived."
            + (" Hint: what does the store still hold from the round before?" if moved.passed > 1 else "")
        )


def _explain(ranks: list[turns.Rank], case: Case, number: int) -> None:
    """Everybody has arrived, and somebody does not get through."""
    stuck = next(rank for rank in ranks if rank.passed < number)
    why = (
        f"waits for the key {stuck.lacks[0]!r}, which nobody sets" if stuck.lacks else "asks the store again and again"
    )
    raise NotYetError(f"At {case}: in round {number} all ranks have arrived, and rank {stuck.rank} still {why}.")
