"""The exercises of the chapter `meshes`: groups of an axis, which axis is the innermost, and a mesh that a job can have.

The first and the third play on real ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import permutations
from math import prod

import torch

from helpers.parallel import Training, Transformer, difference, train
from helpers.parallel.meshes import PipelineAxes, groups, piped, predicted_piped
from helpers.parallel.meshes.axes import made
from helpers.parallel.pipeline.ours import Pipeline
from helpers.ranks import Ranks
from helpers.units import nbytes_text

from .answer import Answer, NotYetError, judge

Axes = Mapping[str, int]  # ranks of every axis, the outermost first
Groups = Callable[[Axes, str], Iterable[Sequence[int]]]
ON_PAPER: tuple[Axes, ...] = (
    {"data": 4},
    {"data": 2, "tensor": 2},
    {"data": 2, "tensor": 4},
    {"data": 4, "tensor": 2},
    {"pipeline": 2, "data": 3, "tensor": 2},
    {"replica": 2, "shard": 2, "pipeline": 3, "tensor": 2},
)


def on_real_ranks(n: int) -> tuple[Axes, ...]:
    """Meshes of n ranks, an even number."""
    return {"data": n // 2, "tensor": 2}, {"data": 1, "pipeline": n // 2, "tensor": 2}, {"pipeline": n}


# the groups of an axis -----------------------------------------------------------------------------------------------------
def groups_of(answer: Groups, ranks: Ranks) -> Answer:
    """answer(axes, name): the groups of the axis `name`, each with its ranks in order. axes: {name: ranks}, the outermost first.

    Held against paper, and on real ranks against torch's DeviceMesh. ranks: an even number of them.
    """
    return judge(
        [*ON_PAPER, *(Torchs(axes, ranks) for axes in on_real_ranks(ranks.nranks))],
        lambda case: case.hold(answer) if isinstance(case, Torchs) else _hold(answer, case, _groups),
        f"On paper for {len(ON_PAPER)} meshes, and on real ranks as torch's DeviceMesh has them.",
    )


class Torchs:
    """A mesh that is made on real ranks."""

    def __init__(self, axes: Axes, ranks: Ranks):
        self.axes, self.ranks = axes, ranks

    def hold(self, answer: Groups) -> None:
        found = self.ranks.run(_asked, dict(self.axes))
        _hold(answer, self.axes, lambda axes, name: sorted({mine[name] for mine in found}))

    def __repr__(self) -> str:
        return f"{self.axes} on real ranks"


def _asked(axes: Axes) -> dict[str, tuple[int, ...]]:
    """Inside a rank: its group on every axis, by torch."""
    return groups(made(axes))


def _groups(axes: Axes, name: str) -> list[tuple[int, ...]]:
    names = list(axes)
    stride = prod(axes[other] for other in names[names.index(name) + 1 :])
    firsts = [rank for rank in range(prod(axes.values())) if rank // stride % axes[name] == 0]
    return [tuple(first + k * stride for k in range(axes[name])) for first in firsts]


def _hold(answer: Groups, axes: Axes, wanted: Callable[[Axes, str], list[tuple[int, ...]]]) -> None:
    for name in axes:
        want, given = sorted(wanted(axes, name)), answer(dict(axes), name)
        try:
            got = sorted(tuple(int(rank) for rank in group) for group in given)
        except TypeError:
            raise NotYetError(f"{dict(axes)}, {name}: expected groups of ranks, got {given!r}.") from None
        if got != want:
            raise NotYetError(
                f"{dict(axes)}, {name}: you say {_some(got)}, it is {_some(want)}."
                " Hint: along an axis all other coordinates stay; the axis behind all others counts one by one."
            )


def _some(found: list[tuple[int, ...]]) -> str:
    return " ".join(map(str, found[:4])) + " ..." * (len(found) > 4)


# which axis is the innermost -----------------------------------------------------------------------------------------------
GIB = 2**30
# Ranks of each axis; bytes that nothing hides, of a rank and step; GPUs of a node
Case = tuple[Axes, Mapping[str, int], int]
ORDERS: tuple[Case, ...] = (
    ({"data": 2, "tensor": 2}, {"data": 1 * GIB, "tensor": 8 * GIB}, 2),
    ({"tensor": 8, "data": 8}, {"tensor": 844 * GIB, "data": 57 * GIB}, 8),
    ({"tensor": 2, "shard": 8}, {"tensor": 2 * GIB, "shard": 30 * GIB}, 8),
    ({"pipeline": 4, "data": 2, "tensor": 8}, {"pipeline": 1 * GIB, "data": 6 * GIB, "tensor": 847 * GIB}, 8),
    ({"pipeline": 2, "data": 4, "tensor": 4}, {"pipeline": 3 * GIB, "data": 20 * GIB, "tensor": 90 * GIB}, 8),
    ({"data": 8, "tensor": 4, "pipeline": 2}, {"data": 10 * GIB, "tensor": 6 * GIB, "pipeline": 6 * GIB}, 8),
)


def innermost(answer: Callable[[Axes, Mapping[str, int], int], Sequence[str]]) -> Answer:
    """answer(axes, exposed, gpus): the names of all axes, outermost first, so that the fewest bytes lie on axes that leave a node.

    axes: {name: ranks}; exposed: {name: bytes that a rank sends and nothing hides}; a node has the next `gpus` ranks.
    """
    return judge(ORDERS, lambda case: _order(answer, *case), f"No order sends fewer bytes, in {len(ORDERS)} cases.")


def crossing(order: Sequence[str], axes: Axes, exposed: Mapping[str, int], gpus: int) -> int:
    """Bytes of the axes whose groups are not inside one node."""
    laid = {name: axes[name] for name in order}
    leave = [name for name in order if any(a // gpus != b // gpus for a, *rest in _groups(laid, name) for b in rest)]
    return sum(exposed[name] for name in leave)


def _order(answer: Callable, axes: Axes, exposed: Mapping[str, int], gpus: int) -> None:
    given = answer(dict(axes), dict(exposed), gpus)
    where = f"{dict(axes)} on nodes of {gpus}"
    if isinstance(given, str) or sorted(given) != sorted(axes):
        raise NotYetError(f"{where}: expected {', '.join(axes)} in some order, got {given!r}.")
    best = min(permutations(axes), key=lambda order: crossing(order, axes, exposed, gpus))
    mine, least = (crossing(order, axes, exposed, gpus) for order in (given, best))
    if mine > least:
        raise NotYetError(
            f"{where}: in the order {', '.join(given)} {nbytes_text(mine)} leave the node, {nbytes_text(least)} would be enough."
            " Hint: which axes fit into a node together, and which of these sets has most of the bytes?"
        )


# a mesh that a job can have ------------------------------------------------------------------------------------------------
SHARE = 0.35  # a rank may hold so much of what one process holds


@cache
def job() -> Training:
    """A small transformer with two heads of keys."""
    return Training(Transformer(kv_heads=2), batch=6, steps=2, optimizer="adamw")


def repaired(answer: Callable[[int], tuple[PipelineAxes, int]], ranks: Ranks) -> Answer:
    """answer(nranks): (axes, micro-batches) with which job() trains on these ranks as one process does, none holding more than SHARE of it.

    ranks: four or eight; what can be refused on paper is, before they are asked.
    """
    praise = f"Equal to one process on {ranks.nranks} real ranks, and it fits."
    return judge(["your mesh"], lambda _: _repaired(answer(ranks.nranks), ranks), praise)


def _repaired(given: object, ranks: Ranks) -> None:
    if not (isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], PipelineAxes)):
        raise NotYetError(f"Expected PipelineAxes and a number of micro-batches, got {given!r}.")
    axes, how = given[0], Pipeline(nmicrobatches=given[1])
    try:
        papers = [predicted_piped(job(), ranks.nranks, rank, axes=axes, how=how) for rank in range(ranks.nranks)]
    except ValueError as error:
        raise NotYetError(f"Refused before anything starts: {error}") from None
    alone = sum(predicted_piped(job(), 1, axes=PipelineAxes(), how=Pipeline(nmicrobatches=1)).held.values())
    most = max(sum(paper.held.values()) for paper in papers) / alone
    if most > SHARE:
        raise NotYetError(
            f"It trains, but a rank holds {most:.0%} of what one process holds, and {SHARE:.0%} is all there is."
            " Hint: which axis cuts the embedding and the head here, and which cuts blocks?"
        )
    got = ranks.run(_trained, axes, how)
    if (far := max(difference(one, train(job())) for one in got)) > job().tolerance:
        raise NotYetError(f"It ends {far:.1e} away from one process.")


def _trained(axes: PipelineAxes, how: Pipeline) -> object:
    torch.set_num_threads(1)
    return piped(job(), axes, how)
