"""The moments of a step that can be the highest, and what stands in memory at each.

"forward": its end, the logits are there. "loss": backward begins, everything that forward kept is there. "last block",
"first block": halfway through the backward of its MLP. "reduction" and "last reduction", from ZeRO-2 on: gradients of
the last block, and in the end of the rest, are whole and on their way. "optimizer": every gradient is there, and no activation.
Chapters: too-big; the memory calculator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from helpers.facts import Model
from helpers.memory.closed_form import fsdp2_moments
from helpers.memory.closed_form.activations import AROUND
from helpers.memory.closed_form.fsdp2_moments import MADE, Moment, whole
from helpers.memory.closed_form.kept import Kept, operators, sizes
from helpers.memory.closed_form.states import PRECISIONS, padded, states
from helpers.memory.closed_form.temporaries import (
    forward_temporaries,
    freed_before,
    head_backward,
    loss_temporaries,
    mlp_backward,
    optimizer_temporaries,
)
from helpers.memory.closed_form.terms import Operator, Term, Terms
from helpers.memory.closed_form.weights import RankWeights
from helpers.memory.sharding import Sharding

OUTSIDE = "embedding, final norm and head"


class Row(NamedTuple):
    """A moment without FSDP2, as the page reads it, too. What is said by a name stands for a number of `numbers`.

    computes, around: as in `Moment`. blocks: of how many a micro-batch's activations are there, (times all, and so many more), None where
    it has none. whole: how many blocks' weights are gathered, None where no weights are. made, left, going: whose gradients have been
    made, which of them are not reduced, under ZeRO-2 and -3, and which are on their way. cast: which copies of autocast's. zero, last:
    the least ZeRO stage, and whether on the last stage alone.
    """

    computes: str
    around: bool
    blocks: tuple[int, int] | None
    whole: int | None
    made: str = ""
    left: str = ""
    going: str = ""
    cast: tuple[str, ...] = ()
    zero: int = 0
    last: bool = False


MOMENTS = {
    "forward": Row("forward", True, (1, 0), 0, cast=("all", "head"), last=True),
    "loss": Row("loss", True, (1, 0), 0, cast=("before", "head"), last=True),
    "last block": Row("mlp", False, (1, 0), 2, "half", "half", cast=("kept",)),
    "reduction": Row("", False, (1, -1), 2, "last", "last", "block", ("kept",), zero=2),
    "first block": Row("mlp", False, (0, 1), 1, "first", "half", cast=("again",)),
    "last reduction": Row("", False, None, 0, "outside", "outside", "rest", zero=2),
    "optimizer": Row("optimizer", False, None, None),
}


@dataclass(frozen=True)
class Choice:
    """All that a step depends on. kept: activations after forward; again: what of one block is computed again, or None."""

    model: Model
    batch: int
    seq: int
    precision: str
    optimizer: str
    sharding: Sharding
    kept: Terms
    again: Term | None
    checkpoint: str
    fsdp2: fsdp2_moments.Units | None = None

    @cached_property
    def held(self) -> RankWeights:
        """The weights that stand here."""
        return RankWeights(self.model, self.sharding)

    def operators(self, items: tuple[Kept, ...]) -> tuple[Operator, ...]:
        values = sizes(self.model, self.batch, self.seq // self.sharding.context)
        return operators(items, values, self.precision, self.sharding.tensor, self.sharding.sequence)


def numbers(c: Choice) -> dict[str, int]:
    """Elements by the names that stand in MOMENTS."""
    units, layers = [padded(unit, c.sharding.shards) for unit in c.held.units], len(c.held.layers)
    known = named(c.held)
    kept, before = (known["again"], 0) if c.checkpoint == "full" else (known["all"], known["all"])
    return known | {"kept": kept, "before": before, "block": max(units[:layers]), "rest": sum(units[layers:])}


def named(held: RankWeights) -> dict[str, int]:
    """Those that a rank's weights tell alone."""
    names = ("half", "first", "last", "outside", "all", "again", "head")
    return {"": 0, **dict(zip(names, (*held.made, *held.multiplied()), strict=True))}


def plain(c: Choice) -> dict[str, Moment]:
    """Those without FSDP2 that this rank has: no loss before the last stage, no reduction below ZeRO-2."""
    here = {
        name: row for name, row in MOMENTS.items() if c.sharding.zero >= row.zero and (c.sharding.last or not row.last)
    }
    return {name: _moment(row, numbers(c), c) for name, row in here.items()}


def _moment(row: Row, n: dict[str, int], c: Choice) -> Moment:
    share, more = row.blocks or (0, 0)
    blocks = share * c.kept.terms[0].times + more if row.blocks else None
    texts = {"block": "a block", "rest": OUTSIDE}
    many = min(row.whole or 0, len(c.held.layers))
    gathered = {("", "a block", "two blocks")[many]: many * n["block"], OUTSIDE: n["rest"]}
    return Moment(
        row.computes,
        blocks,
        fsdp2_moments.NOTHING if row.whole is None else gathered,
        n[row.made],
        n[row.left],
        under_way={texts[row.going]: n[row.going]} if row.going else fsdp2_moments.NOTHING,
        cast=sum(n[name] for name in row.cast),
    )


def moment(name: str, m: Moment, c: Choice) -> Terms:
    """What stands in memory at that moment."""
    if c.fsdp2:
        held, moved = fsdp2_moments.states(m, c.fsdp2, c.optimizer), fsdp2_moments.moving(m)
    else:
        held, moved = _states(m, c), chain(_cast(m, c), _gathered(m, c))
    parts = (*held, *_activations(m, c), *moved, *_temporaries(m, c))
    return Terms(name, tuple(term for term in parts if term.nbytes))


def _states(m: Moment, c: Choice) -> Iterator[Term]:
    """All of them; of the gradients as many as backward has made, unless a buffer or another micro-batch keeps them."""
    made = (
        c.sharding.zero or c.sharding.micro_batches > 1 or m.computes == "optimizer" or c.precision == "bf16-fp32grads"
    )
    for term in states(c.held.units, c.precision, c.optimizer, c.sharding.zero, c.sharding.shards):
        if term.cls != "gradient" or made:
            yield term
        else:
            yield _gradients(m, term, c)


def _gradients(m: Moment, term: Term, c: Choice) -> Term:
    width = PRECISIONS[c.precision]["gradients"]
    texts = ("an element for each parameter that backward has reached",)
    listed = (Operator(term.name, texts[0], ("P",), width, 1, width * m.made, term.source),)
    return replace(term, formula=f"{width} P, of {m.made / sum(c.held.units):.0%}", operators=listed)


def _activations(m: Moment, c: Choice) -> Iterator[Term]:
    """At the loss all; in the last block's backward no longer the ends; in the first block's, one block of this micro-batch."""
    blocks, *around = c.kept
    if m.blocks is None:
        return
    others = (c.fsdp2 or c.sharding).in_flight - 1
    yield replace(blocks, times=m.blocks + others * blocks.times)
    for term in around:
        if m.around or AROUND[term.name]:
            yield term
    if m.computes == "mlp" and c.again:
        yield c.again


def _cast(m: Moment, c: Choice) -> Iterator[Term]:
    """Autocast's 16-bit copies of weights: all until forward ends, then those that a backward still to come will read."""
    if c.precision != "autocast" or m.blocks is None:
        return
    text = "a copy of each weight that a matrix multiplication reads"
    listed = (Operator("autocast", text, ("P",), 2, 1, 2 * m.cast),)
    yield Term("16-bit copies of weights", "activation", "2 P", listed, 1, "torch-autocast")


def _temporaries(m: Moment, c: Choice) -> Iterator[Term]:
    if not m.computes:
        return
    listed = TEMPORARIES[m.computes](c)
    formula = " + ".join(dict.fromkeys(op.formula for op in listed if op.nbytes > 0))
    yield Term("temporaries", "temporary", formula, listed, 1, "torch-optim" if m.computes == "optimizer" else "")


def _mlp(c: Choice) -> tuple[Operator, ...]:
    gone = c.operators(freed_before(c.model))
    return c.operators(mlp_backward(c.model)) + tuple(replace(op, nbytes=-op.nbytes) for op in gone)


def _optimizer(c: Choice) -> tuple[Operator, ...]:
    if c.fsdp2:
        return fsdp2_moments.update(c.fsdp2, c.optimizer)
    if not c.sharding.zero:
        return optimizer_temporaries(c.optimizer, c.precision, sum(c.held.units), *c.held.largest())
    share = max(padded(unit, c.sharding.shards) for unit in c.held.units) // c.sharding.shards
    return optimizer_temporaries(c.optimizer, c.precision, share, share, 0)


TEMPORARIES = {
    "forward": lambda c: c.operators(forward_temporaries(c.precision)),
    "loss": lambda c: c.operators(loss_temporaries()),
    "head": lambda c: c.operators(head_backward()),
    "mlp": _mlp,
    "optimizer": _optimizer,
}


def _gathered(m: Moment, c: Choice) -> Iterator[Term]:
    """Under ZeRO-3 the whole weights of what computes, and of the block that comes next; from ZeRO-2 on gradients not yet reduced."""
    weights, gradients = (PRECISIONS[c.precision][what] for what in ("parameters", "gradients"))
    if c.sharding.data_ranks > 1 and not c.sharding.zero:
        text, nbytes = "a second place for each gradient", gradients * sum(c.held.units)
        listed = (Operator("DDP", text, ("P",), gradients, 1, nbytes, "ddp"),)
        yield Term("gradient buckets", "communication", f"{gradients} P", listed, 1, "ddp")
    if c.sharding.zero < 2:
        return
    if c.sharding.zero == 3:
        yield whole("gathered weights", "communication", weights, m.gathered, "zero")
    yield whole("unreduced gradients", "gradient", gradients, {MADE: m.whole}, "zero")
    yield whole("gradients on their way", "communication", gradients, m.under_way, "zero")
