"""What moves because layers are cut: activations among tensor ranks, between stages, and tokens to experts.

Chapters: tensor-parallel, pipeline, expert.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.ledger.flops import EARLY
from helpers.ledger.places import place, strides
from helpers.ledger.setups import Setup
from helpers.ledger.traffic import Traffic
from helpers.memory import Sharding

PER_BLOCK = 2  # pairs of matrices: attention and MLP; each has a collective in forward and one in backward
LOSS = 3  # of a loss over a cut vocabulary: the maxima, the sums, and the scores of the right words, fp32 each


def layer_traffic(
    setup: Setup, sharding: Sharding, batch: int, precision: str, checkpoint: str = "none", regather: bool = False
) -> Iterator[Traffic]:
    """Of one step of the rank on `sharding.stage`. batch: sequences of a micro-batch.

    A block that is checkpointed whole is computed again before its backward, and so are its collectives, all of them or, with an early
    stop, all but the last. With sequence parallelism a
    rank keeps what it has gathered here; Megatron-LM keeps its own part, which is what the closed form's memory counts, and with
    regather each pair's input is gathered once more in backward: a quarter more bytes, a sixth where blocks are computed again.
    ValueError for regather without sequence parallelism.
    """
    if regather and not sharding.sequence:
        raise ValueError("regather gathers what sequence parallelism has shared out: it needs sequence=True")
    width = 4 if precision in ("fp32", "autocast") else 2
    seq = setup.seq // sharding.context
    activations = batch * seq * setup.model.hidden * width
    again, early = checkpoint in ("full", EARLY), checkpoint == EARLY
    yield from _tensor(setup, sharding, activations, 4 * batch * seq, again, early)
    if regather:
        yield _once_more(setup, sharding, activations)
    yield from _experts(setup, sharding, activations, again)
    yield from _stages(setup, sharding, activations)


def _tensor(
    setup: Setup, sharding: Sharding, activations: int, column: int, again: bool, early: bool
) -> Iterator[Traffic]:
    """activations: bytes of [batch, seq, hidden] of this context rank's tokens; column: of one fp32 number a token.

    early: of what is computed again the sum behind a block's last product is left out, with that product.
    """
    if sharding.tensor == 1:
        return
    where = place(setup.machine, *strides(sharding)["tensor"])
    pairs = PER_BLOCK * len(sharding.layers(setup.model)) * sharding.micro_batches
    ends = (sharding.first + sharding.last) * sharding.micro_batches  # the embedding's sum, the head's gradient
    for op in ("all_gather", "reduce_scatter") if sharding.sequence else ("all_reduce",):
        # Of forward: the head's input, the embedding's sum
        end = sharding.last if op == "all_gather" else sharding.first
        ahead = pairs + end * sharding.micro_batches
        times = pairs * (2 + again) - (early and op != "all_gather") * pairs // PER_BLOCK + ends
        yield Traffic("activations", "tensor", op, activations, times, where, ahead)
    if sharding.last:
        times = LOSS * sharding.micro_batches
        yield Traffic("the loss", "tensor", "all_reduce", column, times, where, times)


def _once_more(setup: Setup, sharding: Sharding, activations: int) -> Traffic:
    """The inputs of both pairs of a block, for the gradients of the matrices that read them."""
    times = PER_BLOCK * len(sharding.layers(setup.model)) * sharding.micro_batches
    where = place(setup.machine, *strides(sharding)["tensor"])
    return Traffic("inputs once more", "tensor", "all_gather", activations, times, where)


def _experts(setup: Setup, sharding: Sharding, activations: int, again: bool) -> Iterator[Traffic]:
    """Tokens there and back, in forward and in backward, of every layer with experts; all ranks of a group get equally many."""
    if sharding.expert == 1:
        return
    sparse = sum(layer >= setup.model.dense for layer in sharding.layers(setup.model))
    ahead = 2 * sparse * sharding.micro_batches
    where = place(setup.machine, *strides(sharding)["expert"])
    nbytes = activations * setup.model.active
    yield Traffic("tokens to experts and back", "expert", "all_to_all", nbytes, ahead * (2 + again), where, ahead)


def _stages(setup: Setup, sharding: Sharding, activations: int) -> Iterator[Traffic]:
    """A stage sends what it makes to the next, and its input's gradient to the one before; with sequence parallel its own tokens only."""
    if sharding.pipeline == 1:
        return
    where = place(setup.machine, *strides(sharding)["pipeline"])
    nbytes = activations // (sharding.tensor if sharding.sequence else 1)
    for what, there in (("activations to the next stage", not sharding.last), ("their gradients", not sharding.first)):
        if there:
            yield Traffic(what, "pipeline", "send_recv", nbytes, sharding.micro_batches, where)
