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

from helpers.facts import Model
from helpers.memory.closed_form import fsdp2_moments
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

MOMENTS = ("forward", "loss", "last block", "reduction", "first block", "last reduction", "optimizer")

OUTSIDE = "embedding, final norm and head"
REDUCTIONS = ("reduction", "last reduction")  # of ZeRO-2 and 3


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


def plain(c: Choice) -> dict[str, Moment]:
    """Those without FSDP2 that this rank has: no loss before the last stage, no reduction below ZeRO-2."""
    n, padded_ = c.kept.terms[0].times, [padded(unit, c.sharding.shards) for unit in c.held.units]
    layers = len(c.held.layers)
    block, rest = max(padded_[:layers]), sum(padded_[layers:])
    half, first, last, outside = c.held.made
    copies, again, head = c.held.multiplied()
    kept = copies if c.checkpoint != "full" else again
    names = "", "a block", "two blocks"
    none, one, two = ({text: i * block, OUTSIDE: rest} for i, text in enumerate(names))
    two = one if layers == 1 else two
    before = 0 if c.checkpoint == "full" else copies
    found = {
        "forward": Moment("forward", n, none, cast=copies + head),
        "loss": Moment("loss", n, none, cast=before + head),
        "last block": Moment("mlp", n, two, half, half, cast=kept),
        "reduction": Moment("", n - 1, two, last, last, 0, {"a block": block}, kept),
        "first block": Moment("mlp", 1, one, first, half, cast=again),
        "last reduction": Moment("", None, none, outside, outside, 0, {OUTSIDE: rest}),
        "optimizer": Moment("optimizer", None),
    }
    absent = (() if c.sharding.last else ("forward", "loss")) + (() if c.sharding.zero > 1 else REDUCTIONS)
    return {name: one for name, one in found.items() if name not in absent}


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
        if m.around or term.name == "positions":
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
