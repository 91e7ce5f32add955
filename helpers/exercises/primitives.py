"""The exercises of the chapter `primitives`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
import torch.distributed as dist

from helpers.collectives import PRIMITIVES
from helpers.patches import FORBIDDEN
from helpers.ranks import Ranks

from .answer import Answer, NotYetError, judge
from .on_ranks import on_ranks

# What must happen to the bytes, and what does it.
NEEDS = {
    "every replica wants the mean of all gradients": "all_reduce",
    "every rank owns a shard of the gradients and wants its sum": "reduce_scatter",
    "a layer's shards must be whole on every rank": "all_gather",
    "rank 0 has read the weights from disk, the others have not": "broadcast",
    "every token must reach the rank of its expert": "all_to_all",
    "the next stage waits for these activations": "send_recv",
    "rank 0 writes every rank's predictions into one report": "gather",
    "rank 0 has read one large batch for all": "scatter",
    "rank 0 alone logs the sum of the losses": "reduce",
    "nobody may read the checkpoint before it is written": "barrier",
}


def which_one(answer: Mapping[str, str]) -> Answer:
    """answer: the name of a primitive for every need of NEEDS. The cheapest that does it counts."""
    return judge(NEEDS, lambda need: _right_one(answer, need), "All ten: you read a need and see the call.")


def _right_one(answer: Mapping[str, str], need: str) -> None:
    got, want = answer.get(need), NEEDS[need]
    if got not in PRIMITIVES:
        raise NotYetError(f"{need}: expected one of {', '.join(PRIMITIVES)}, got {got!r}.")
    if got != want:
        raise NotYetError(f"{need}: {got} is not it. What {got} is for: {PRIMITIVES[got].use}")


def all_reduce_from_halves(answer: Callable[[torch.Tensor], torch.Tensor], ranks: Ranks) -> Answer:
    """answer(x) runs on every rank, x of any length, and returns the sum over all ranks, without all_reduce itself."""
    sizes = (ranks.nranks, 2 * ranks.nranks, ranks.nranks + 1, 1, 0)
    praise = "Right on every rank for lengths that divide and lengths that do not, and no all_reduce was called."
    return judge((f"{n} elements" for n in sizes), lambda case: _sums(answer, ranks, int(case.split()[0])), praise)


def _sums(answer: Callable[[torch.Tensor], torch.Tensor], ranks: Ranks, numel: int) -> None:
    seen = on_ranks(ranks, _try, answer, numel, where=f"At {numel} elements")
    for rank, (got, want) in enumerate(seen):
        if got != want:
            raise NotYetError(f"At {numel} elements: rank {rank} got {got}, the sum is {want}.")


def _try(answer: Callable[[torch.Tensor], torch.Tensor], numel: int) -> tuple[object, list[float]]:
    """In a rank: the answer's result and the sum, made from what every rank is known to hold."""
    rank, nranks = dist.get_rank(), dist.get_world_size()
    with FORBIDDEN.during(dist, "all_reduce", _refuse):
        got = answer(torch.arange(numel).float() + 10 * rank)
    want = [float(nranks * i + 10 * sum(range(nranks))) for i in range(numel)]
    return got.tolist() if isinstance(got, torch.Tensor) else repr(got), want


def _refuse(*_: object, **__: object) -> None:
    raise NotYetError("dist.all_reduce is what you are to build: take its two halves.")
