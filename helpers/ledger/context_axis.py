"""What the context axis moves, and what of it shows: a ring behind its scores, a gather or an all_to_all in full. Chapter: context.

Bytes and calls are those of `helpers.context.layer_passes`, layer by layer. What is computed again moves its keys again, also where that
is attention's core alone. A ring hides its messages as `helpers.context.Ring` has it, with as many seconds for all scores as the clock
has: every query with every key, backward twice forward. Of a placement that is not even, the rank with most scores is waited for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from helpers.context import Ring, layer_passes, slowest
from helpers.ledger.places import Place, place, strides
from helpers.ledger.setups import Setup
from helpers.ledger.traffic import Traffic
from helpers.memory import Sharding
from helpers.memory.closed_form import Step
from helpers.memory.closed_form.terms import Operator, Term, Terms

Lines = tuple[Traffic, ...]


class Longer(NamedTuple):
    """Of a micro-batch: seconds by which forward and backward are longer than their arithmetic."""

    forward: float
    backward: float


def uneven(seq: int, sharding: Sharding) -> float:
    """Scores of the context rank that has most, by those of an even share."""
    if sharding.context == 1 or sharding.form == "heads":
        return 1.0
    return slowest(sharding.order, seq, sharding.context) / (seq * (seq + 1) / 2 / sharding.context)


def layer_times(form: str, keys: int, stream: int, place: Place) -> tuple[Lines, Lines]:
    """(forward, backward) of one layer as lines of the ledger. keys: K, bytes of the keys and values of all tokens; stream: N.

    ValueError as helpers.context.layer_passes.
    """
    layer_passes(form, keys, stream, place.nranks)
    n, hops = place.nranks, place.nranks - 1
    if form == "ring":
        there = _line("keys and values", "send_recv", keys // n, hops, place)
        return (there,), (there, _line("gradients of keys", "send_recv", keys // n, hops, place))
    if form == "gathered":
        gradients = _line("gradients of keys", "reduce_scatter", keys, 1, place)
        return (_line("keys and values", "all_gather", keys, 1, place),), (gradients,)
    both = (
        _line("queries and results", "all_to_all", stream // n, 2, place),
        _line("keys, values", "all_to_all", keys // 2 // n, 2, place),
    )
    return both, both


def _line(what: str, op: str, nbytes: int, times: int, place: Place) -> Traffic:
    return Traffic(what, "context", op, nbytes, times, place)


def context_traffic(
    setup: Setup, sharding: Sharding, batch: int, precision: str, checkpoint: str = "none"
) -> Iterator[Traffic]:
    """Of one step of the rank on `sharding.stage`. batch: sequences of a micro-batch."""
    if sharding.context == 1:
        return
    there, back = _layer(setup, sharding, batch, precision)
    times = len(sharding.layers(setup.model)) * sharding.micro_batches
    again = there * (checkpoint != "none")
    calls, ahead = (Counter[Traffic]() for _ in range(2))
    for one in (*there, *again, *back):
        calls[replace(one, times=0)] += one.times * times
    for one in there:
        ahead[replace(one, times=0)] += one.times * times
    for one, number in calls.items():
        yield replace(one, times=number, forward=ahead[one])


def longer(setup: Setup, sharding: Sharding, batch: int, precision: str, checkpoint: str, rate: float) -> Longer:
    """Of a micro-batch on this stage. rate: FLOP/s that a GPU reaches."""
    if sharding.context == 1:
        return Longer(0.0, 0.0)
    layers, again = len(sharding.layers(setup.model)), checkpoint != "none"
    if sharding.form == "ring":
        ring = _ring(setup, sharding, batch, precision, rate)
        forward, backward = ring.exposed(), ring.exposed(backward=True)
    else:
        forward, backward = (sum(one.seconds for one in lines) for lines in _layer(setup, sharding, batch, precision))
    return Longer(layers * forward, layers * (backward + again * forward))


def held(one: Step, setup: Setup, sharding: Sharding, batch: int, precision: str, checkpoint: str) -> Step:
    """The closed form's step on this rank, which has its own tokens alone, and what attention keeps until a block's backward.

    Not counted is what stands there within one attention's forward or backward: two blocks of a ring, the gradients of gathered keys.
    That is less than is there at the loss or in an MLP's backward where blocks are kept; with every block computed again up to 7 % of a
    7B model's peak (gathered, 131,072 tokens on eight ranks), by `predict_step`, which counts it.
    """
    listed = _kept(setup, sharding, batch, precision)
    if not listed:
        return one
    blocks = "blocks" if checkpoint == "none" else "one block, computed again"
    return replace(one, moments={name: _with(terms, listed, blocks) for name, terms in one.moments.items()})


def _kept(setup: Setup, sharding: Sharding, batch: int, precision: str) -> tuple[Operator, ...]:
    """Of a layer, more than a rank alone would keep of its tokens.

    A ring adds up its result in one tensor. The others keep it twice: as attention made it, in chunks or by heads, and as the next
    product reads it.
    """
    if sharding.context == 1 or sharding.form == "ring":
        return ()
    model, width, mine = setup.model, _width(precision), setup.seq // sharding.context
    row = batch * width // sharding.tensor
    twice = row * model.heads * model.head_dim * mine
    made = Operator("attention", "its result, as it was made", ("b", "s", "q", "d"), width, 1, twice)
    if sharding.form == "heads":
        return (made,)
    others = row * 2 * model.kv_hidden * (setup.seq - mine)
    return (Operator("attention", "keys and values of other ranks", ("b", "s", "k", "d"), width, 1, others), made)


def _with(terms: Terms, listed: tuple[Operator, ...], kept: str) -> Terms:
    """With as many blocks' lists as the term `kept` has blocks."""
    blocks = sum(term.times for term in terms if term.name == kept)
    formula = " + ".join(op.formula for op in listed)
    more = Term("what context ranks keep besides", "activation", f"L ({formula})", listed, blocks)
    return replace(terms, terms=(*terms, more)) if blocks else terms


def _ring(setup: Setup, sharding: Sharding, batch: int, precision: str, rate: float) -> Ring:
    where = place(setup.machine, *strides(sharding)["context"])
    link = where.inside if where.level == "node" else where.across
    seen = rate * (setup.seq + 1) / (2 * setup.seq)  # a ring counts the scores that count, the clock all of them
    width = _width(precision)
    return Ring(setup.model, setup.seq, sharding.context, link, seen, sharding.order, sharding.tensor, width, batch)


def _layer(setup: Setup, sharding: Sharding, batch: int, precision: str) -> tuple[Lines, Lines]:
    """Of one layer and micro-batch; tensor ranks share its heads."""
    model, width = setup.model, _width(precision)
    tokens = batch * setup.seq * width // sharding.tensor
    where = place(setup.machine, *strides(sharding)["context"])
    return layer_times(sharding.form, 2 * model.kv_hidden * tokens, model.heads * model.head_dim * tokens, where)


def _width(precision: str) -> int:
    """Bytes of a number that attention computes with."""
    return 4 if precision == "fp32" else 2
