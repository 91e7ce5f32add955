"""The exercises of the chapter `hangs`: each answer runs on real ranks with a short deadline, and a hang is refused with its report."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist

from .answer import Answer, NotYetError, judge
from .on_ranks import on_ranks

DEADLINE = 3.0  # seconds in one collective: an answer that waits longer hangs
SIZES = (2, 3, 4)  # ranks


def uneven_batches(answer: Callable[[list[torch.Tensor]], torch.Tensor]) -> Answer:
    """answer(batches) runs on every rank and returns the mean over the batches of all ranks; each rank has another number of them.

    Some ranks may have none; altogether there is at least one. A batch is a tensor of three numbers.
    """
    counts = ((1, 1), (2, 1), (3, 1, 2), (0, 2, 5), (4, 0, 0, 1))
    praise = "The mean over all batches on every rank, also where ranks have none, and nobody waits for a batch that does not come."
    return judge(counts, lambda case: _means(answer, case), praise)


def _means(answer: Callable, counts: Sequence[int]) -> None:
    total = sum(counts)
    want = [sum(_batch(r, k)[i] for r, count in enumerate(counts) for k in range(count)) / total for i in range(3)]
    where = f"At {' + '.join(map(str, counts))} batches"
    for rank, got in enumerate(on_ranks(len(counts), _mean, answer, counts, deadline=DEADLINE, where=where)):
        if got != want:
            raise NotYetError(f"{where}: rank {rank} returns {got}, the mean is {want}.")


def _batch(rank: int, number: int) -> list[float]:
    """Multiples of 840: their sums, and means over up to eight batches, are exact in any order."""
    return [840.0 * (rank + 1), 840.0 * number, 840.0]


def _mean(answer: Callable, counts: Sequence[int]) -> object:
    """In a rank: the answer's result for this rank's batches."""
    rank = dist.get_rank()
    return _plain(answer([torch.tensor(_batch(rank, k)) for k in range(counts[rank])]))


def neighbours(answer: Callable[[torch.Tensor], torch.Tensor]) -> Answer:
    """answer(x) runs on every rank, sends x to the next rank and returns what the previous one sent; the last is before the first."""
    praise = "Everybody sends to the right and has received from the left, with two, three and four ranks, and nobody waits in a circle."
    return judge((f"{n} ranks" for n in SIZES), lambda case: _shifted(answer, int(case.split()[0])), praise)


def _shifted(answer: Callable, nranks: int) -> None:
    found = on_ranks(nranks, _shift, answer, deadline=DEADLINE, where=f"At {nranks} ranks")
    for rank, got in enumerate(found):
        want = [float((rank - 1) % nranks)] * 4
        if got != want:
            raise NotYetError(f"At {nranks} ranks: rank {rank} returns {got}, its left neighbour sent {want}.")


def _shift(answer: Callable) -> object:
    """In a rank: the answer's result for a tensor that carries the rank's number."""
    return _plain(answer(torch.full((4,), float(dist.get_rank()))))


def refuses_other_names(answer: Callable[[str, torch.Tensor], None]) -> Answer:
    """answer(name, x) runs on every rank: dist.all_reduce(x) when all ranks came with one name, else an exception on every rank."""
    praise = "Equal names: the sum. Different names: an error on every rank before a number is wrong, and no hang."
    cases = [(n, odd) for n in SIZES for odd in (None, 0, n - 1)]
    return judge(cases, lambda case: _named(answer, *case), praise)


def _named(answer: Callable, nranks: int, odd: int | None) -> None:
    same = odd is None
    where = f"At {nranks} ranks " + ("with one name" if same else f"when rank {odd} comes with another name")
    for rank, (raised, value) in enumerate(on_ranks(nranks, _try_name, answer, odd, deadline=DEADLINE, where=where)):
        if same and raised:
            raise NotYetError(f"{where}: rank {rank} raises {raised}.")
        if same and value != nranks:
            raise NotYetError(f"{where}: rank {rank} holds {value}, the sum is {nranks}.")
        if not same and not raised:
            raise NotYetError(f"{where}: rank {rank} raises nothing and goes on with {value}.")


def _try_name(answer: Callable, odd: int | None) -> tuple[str, float]:
    """In a rank: what the answer raised ("" for nothing), and what x holds afterwards."""
    x = torch.ones(1)
    try:
        answer("bias" if dist.get_rank() == odd else "weight", x)
    except Exception as error:
        return f"{type(error).__name__}: {error}", x.item()
    return "", x.item()


def _plain(got: object) -> object:
    return got.tolist() if isinstance(got, torch.Tensor) else repr(got)
