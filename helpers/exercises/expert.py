"""The exercises of the chapter `expert`: sizes that are data, whom a full expert turns away, and whose gradients are averaged where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.collectives.routing import Routes, made_up

from .answer import Answer, NotYetError, judge
from .on_ranks import on_ranks

DEADLINE = 5.0  # seconds in one collective: an answer that waits longer hangs


# sizes -------------------------------------------------------------------------------------------------------------------
def split_sizes(answer: Callable[[Tensor, int], tuple[Sequence[int], Sequence[int]]], n: int = 4) -> Answer:
    """answer(chosen, experts) runs on every rank: (rows for each rank, rows from each rank), what all_to_all_single wants to know.

    chosen: int64 [tokens, k], the experts of this rank's tokens; experts lie on ranks in order, equally many on each. n: ranks, after two.
    """
    cases = [(2, 4, 1, 0), (n, n, 2, 60), (n, 4 * n, 2, 100)]
    return judge(
        cases,
        lambda case: _sizes(answer, *case),
        "Every rank knows what comes, with one expert a rank and with several.",
    )


def _sizes(answer: Callable, nranks: int, experts: int, top_k: int, skew: int) -> None:
    routes = made_up(nranks, 6, experts, top_k, skew, seed=4)
    where = f"At {nranks} ranks, {experts} experts, top {top_k}"
    columns = list(zip(*routes.matrix, strict=True))
    for rank, got in enumerate(
        on_ranks(nranks, _asked_for_sizes, answer, routes.chosen, experts, deadline=DEADLINE, where=where)
    ):
        want = [list(routes.matrix[rank]), list(columns[rank])]
        if got != want:
            raise NotYetError(
                f"{where}: rank {rank} returns {got}, its tokens go out as {want[0]} and come in as {want[1]}."
                " Hint: who knows how many rows rank 1 has for you?"
            )


def _asked_for_sizes(answer: Callable, chosen: Sequence, experts: int) -> object:
    """In a rank: the answer as plain lists."""
    got = answer(torch.tensor(chosen[dist.get_rank()]), experts)
    try:
        return [[int(n) for n in part] for part in got]
    except TypeError:
        return repr(got)


# capacity ----------------------------------------------------------------------------------------------------------------
def kept_choices(answer: Callable[[Sequence[Sequence[int]], int, int], Sequence[Sequence[bool]]]) -> Answer:
    """answer(chosen, experts, slots): for every token and choice, in lists like `chosen`, whether it finds a slot of its expert.

    First choices are served before second ones, and among these earlier tokens first.
    """
    found = (made_up(1, tokens, experts, k, skew, seed=seed) for tokens, experts, k, skew, seed in CROWDS)
    cases = [Routes((((0, 1), (1, 0)),), 2, 1)]
    cases += [Routes(one.chosen, one.experts, slots) for one, slots in product(found, (1, 2, 3))]
    return judge(cases, lambda case: _kept(answer, case), f"The same choices are dropped, in all {len(cases)} cases.")


CROWDS = ((3, 2, 1, 100, 1), (3, 2, 2, 0, 2), (6, 4, 2, 50, 3), (8, 4, 3, 100, 4), (16, 8, 2, 80, 5))


def _kept(answer: Callable, routes: Routes) -> None:
    chosen = [list(choices) for choices in routes.chosen[0]]
    got = answer([list(choices) for choices in chosen], routes.experts, routes.slots)
    want = [[place >= 0 for place in places] for places in routes.slot[0]]
    where = f"Tokens that chose {chosen}, {routes.slots} {'slot' if routes.slots == 1 else 'slots'} an expert"
    plain = [[bool(kept) for kept in choices] for choices in got]
    if plain != want:
        raise NotYetError(
            f"{where}: you keep {plain}, and it is {want}. Hint: who is served first, a token or a choice?"
        )


# gradients ---------------------------------------------------------------------------------------------------------------
def averaged(answer: Callable[[Tensor, bool, object, object], Tensor], n: int = 4) -> Answer:
    """answer(grad, is_expert, experts, alike) runs on each of n ranks, an even number: the gradient of the mean loss over all.

    grad: of this rank's own mean loss, or, for an expert, of the sum of the losses of its `experts` group, whose tokens it has seen.
    experts: the group of two ranks that share one set of experts out; alike: those that hold the same experts.
    """
    praise = "Experts among their likes, the rest among all."
    return judge((True, False), lambda case: _averaged(answer, n, case), praise)


def _averaged(answer: Callable, n: int, is_expert: bool) -> None:
    what = "an expert" if is_expert else "what is no expert"
    found = on_ranks(n, _asked_to_average, answer, is_expert, deadline=DEADLINE, where=f"For the gradient of {what}")
    for rank, got in enumerate(found):
        holding = range(rank % 2, n, 2) if is_expert else range(n)
        want = sum(_gradient(one, is_expert) for one in holding) / n
        if got != [want] * 3:
            raise NotYetError(
                f"For the gradient of {what}: rank {rank} returns {got}, it is {[want] * 3}."
                " Hint: which ranks hold this parameter, and over how many ranks' losses is the mean?"
            )


def _gradient(rank: int, is_expert: bool) -> float:
    """Sums and means over up to eight ranks are exact."""
    return (1024.0 if is_expert else 64.0) * 4**rank


def _asked_to_average(answer: Callable, is_expert: bool) -> object:
    """In a rank: ranks 0 and 1 share experts out, 2 and 3 do, and so on; 0 and 2 hold the same ones, 1 and 3 do."""
    rank, n = dist.get_rank(), dist.get_world_size()
    experts = [dist.new_group([first, first + 1]) for first in range(0, n, 2)][rank // 2]
    alike = [dist.new_group(list(range(first, n, 2))) for first in (0, 1)][rank % 2]
    got = answer(torch.full((3,), _gradient(rank, is_expert)), is_expert, experts, alike)
    return got.tolist() if isinstance(got, Tensor) else repr(got)
