"""The exercises of the chapter `pipeline`: an order and a mended schedule, both played by real ranks, and a choice under two limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

from helpers.parallel import MLP, Training
from helpers.parallel.pipeline.played import gradients_off, messages_alone
from helpers.pipeline import (
    SCHEDULES,
    PipelineSchedule,
    ScheduleError,
    bubble_share,
    dry_run,
    idle,
    most_waiting,
    naive,
    peak,
    timeline,
)
from helpers.pipeline.dry_run import with_messages
from helpers.pipeline.schedule import Action
from helpers.ranks import Ranks

from .answer import Answer, NotYetError, judge
from .on_ranks import on_ranks

SIZES = ((1, 2), (2, 2), (2, 4), (3, 2), (4, 8))  # ranks and microbatches


# an order ------------------------------------------------------------------------------------------------------------------
def order(answer: Callable[[int, int, int], Sequence[str]], ranks: Ranks | None = None) -> Answer:
    """answer(rank, nranks, nmicrobatches): 1F1B for a rank, as "F0" and "B0". In the end ranks train by it.

    ranks: those that are there already; None starts four.
    """
    n = ranks.nranks if ranks else 4
    praise = f"1F1B: the bubble and the memory of the paper, and {n} ranks have the gradients of one process."
    return judge([*SIZES, f"{n} ranks that train"], lambda case: _ordered(answer, case, n, ranks), praise)


def _ordered(answer: Callable, case: tuple[int, int] | str, n: int, ranks: Ranks | None) -> None:
    if isinstance(case, str):
        s, training, where = _made(answer, n, 2 * n), Training(MLP(layers=n), batch=2 * n), f"On {n} ranks"
        off = max(on_ranks(ranks or n, gradients_off, s, training, where=where))
        if not off <= training.tolerance:
            raise NotYetError(f"{where} the gradients are {off:.1e} from those of one process.")
        return
    s, (nranks, m) = _made(answer, *case), case
    where = f"{nranks} ranks, {m} microbatches"
    for rank, most in enumerate(peak(s)):
        if most > min(nranks - rank, m):
            raise NotYetError(
                f"{where}: on rank {rank} {most} microbatches wait at once, in 1F1B {min(nranks - rank, m)}."
                " Hint: how many forwards does a rank need before its first gradient can be back?"
            )
    if (waits := timeline(s).idle[0]) > idle(SCHEDULES["1f1b"](nranks, m)):
        raise NotYetError(f"{where}: every rank waits {waits} forwards long, in 1F1B {3 * (nranks - 1)}.")


def _made(answer: Callable, nranks: int, m: int) -> PipelineSchedule:
    """The answer's computations with messages, sound; else NotYetError."""
    where = f"{nranks} ranks, {m} microbatches"
    try:
        programs = tuple(tuple(_read(word, rank) for word in answer(rank, nranks, m)) for rank in range(nranks))
        s = with_messages(PipelineSchedule("yours", nranks, m, nranks, programs))
        dry_run(s)
    except ScheduleError as error:
        raise NotYetError(f"{where}: {error}.") from None
    return s


def _read(word: object, rank: int) -> Action:
    if not isinstance(word, str) or word[:1] not in ("F", "B") or not word[1:].isdecimal():
        raise ScheduleError(f'a computation is written "F0" or "B0", rank {rank} has {word!r}')
    return Action.parse(f"{rank}{word}")


# a schedule that hangs -----------------------------------------------------------------------------------------------------
HANGS = ((2, 2), (2, 4), (3, 5), (4, 8))  # ranks and microbatches


def mended(answer: Callable[[list[str]], Sequence[str]], n: int = 4) -> Answer:
    """answer(program): a rank's actions as text, in an order in which nobody waits in a circle. Computations keep their order.

    The programs given are `naive`'s of 1F1B. At the end n ranks exchange the messages over Gloo, whose sends wait for their receivers.
    """
    praise = f"No circle in {len(HANGS)} sizes on paper, and none on {n} ranks whose sends wait."
    return judge([*HANGS, f"{n} ranks"], lambda case: _mended(answer, case, n), praise)


def _mended(answer: Callable, case: tuple[int, int] | str, n: int) -> None:
    nranks, m = (n, 2 * n) if isinstance(case, str) else case
    given, where = naive(SCHEDULES["1f1b"](nranks, m)), f"{nranks} ranks, {m} microbatches"
    programs = tuple(_reordered(answer, list(map(str, program)), where) for program in given.programs)
    s = PipelineSchedule("yours", nranks, m, nranks, programs)
    if s.computed != given.computed:
        raise NotYetError(f"{where}: the computations have another order. Hint: only messages have to move.")
    try:
        dry_run(s)
    except ScheduleError as error:
        raise NotYetError(f"{where}: {error}. Hint: of two neighbours that face each other, who receives?") from None
    if isinstance(case, str):
        on_ranks(n, messages_alone, s, where=f"On {n} ranks")


def _reordered(answer: Callable, program: list[str], where: str) -> tuple[Action, ...]:
    got = list(answer(list(program)))
    if sorted(map(str, got)) != sorted(program):
        odd = set(map(str, got)) ^ set(program)
        raise NotYetError(f"{where}: the same actions, each once; {', '.join(sorted(odd)[:3]) or 'one'} is not so.")
    return tuple(map(Action.parse, map(str, got)))


# a choice ------------------------------------------------------------------------------------------------------------------
# ranks, layers, sequences of a step, sequences whose activations fit a rank, the bubble's share of all time that is allowed
BUDGETS = (
    (4, 32, 16, 4, Fraction(1, 4)),
    (4, 32, 32, 4, Fraction(1, 10)),
    (4, 32, 8, 8, Fraction(1, 5)),
    (8, 32, 16, 16, Fraction(1, 5)),
    (8, 80, 64, 8, Fraction(1, 10)),
    (8, 80, 16, 16, Fraction(1, 10)),
    (8, 80, 16, 4, Fraction(1, 10)),
    (8, 80, 16, 9, Fraction(1, 5)),  # two and five stages a rank hold more than 9; 1F1B's memory says 8
)
Choice = tuple[int, int] | None


def choice(answer: Callable[[int, int, int, int, Fraction], Choice]) -> Answer:
    """answer(nranks, layers, sequences, room, share) -> (nmicrobatches, nvirtual), or None where nothing fits.

    1F1B, interleaved where nvirtual > 1: bubble_share at most `share`, and on rank 0 activations of at most `room` sequences.
    """
    praise = f"Within the memory and below the bubble in all {len(BUDGETS)} cases, and none where none is."
    return judge(BUDGETS, lambda case: _chosen(answer, *case), praise)


def _chosen(answer: Callable, nranks: int, layers: int, sequences: int, room: int, share: Fraction) -> None:
    where = f"{nranks} ranks, {layers} layers, {sequences} sequences, room for {room}, a share of {share}"
    pairs = product(range(1, sequences + 1), range(1, layers + 1))
    fits = {pair: _limits(nranks, sequences, *pair) for pair in pairs if _goes(nranks, layers, sequences, *pair)}
    there = any(bubble <= share and held <= room for bubble, held in fits.values())
    got = answer(nranks, layers, sequences, room, share)
    if got is None and not there:
        return
    if got is None:
        raise NotYetError(f"{where}: there is a choice. Hint: what does a smaller microbatch do to both?")
    if not isinstance(got, tuple) or len(got) != 2 or got not in fits:
        raise NotYetError(
            f"{where}: expected (nmicrobatches, nvirtual) that divide the sequences and the layers of a rank, and a multiple of"
            f" {nranks} microbatches where nvirtual > 1; got {got!r}."
        )
    bubble, held = fits[got]
    if bubble > share or held > room:
        raise NotYetError(
            f"{where}: {got} has a bubble of {float(bubble):.3f}, and rank 0 holds {float(held):g} sequences."
        )


def _goes(nranks: int, layers: int, sequences: int, m: int, v: int) -> bool:
    return sequences % m == 0 and layers % (nranks * v) == 0 and (v == 1 or m % nranks == 0)


def _limits(nranks: int, sequences: int, m: int, v: int) -> tuple[Fraction, Fraction]:
    """(the bubble's share of all time, sequences whose activations wait on rank 0)."""
    # Formulas need no actions
    s = PipelineSchedule("interleaved" if v > 1 else "1f1b", nranks, m, nranks * v, ((),) * nranks)
    return Fraction(bubble_share(s)), most_waiting(s, 0) * Fraction(sequences, m)
