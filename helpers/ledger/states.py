"""What the data axis moves: gradients in buckets, or shards of states unit by unit. Chapters: data-parallel, sharded, expert.

Context ranks have the same parameters, so they count as data ranks here. In teams (HSDP) shards are gathered and reduced inside a team,
and then a shard's gradients are added up among the replicas: with FSDP2 after every backward, unless it is told to wait
(set_requires_all_reduce).

In a pipeline torch tells FSDP2 to reduce once, when all backwards are over, and to keep what a backward has gathered until the next
forward has used it (torch.distributed.pipelining): `gathers_in_a_pipeline`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from helpers.ledger.places import place, strides
from helpers.ledger.setups import Setup
from helpers.ledger.traffic import Traffic
from helpers.memory import Sharding
from helpers.memory.closed_form import padded
from helpers.memory.closed_form.weights import EXPERT, RankWeights
from helpers.memory.payloads import bucket_sizes

# Bytes of one element on the wire, by the closed forms' precisions: weights as they are gathered, gradients as they are reduced.
WIRE = {
    "fp32": (4, 4),
    "bf16": (2, 2),
    "bf16-fp32grads": (2, 4),
    "bf16-true": (2, 2),
    "autocast": (4, 4),
    "fsdp2": (2, 4),
}


def state_traffic(setup: Setup, sharding: Sharding, precision: str) -> Iterator[Traffic]:
    """Of one step of the rank on `sharding.stage`. Gradients of several micro-batches are added up first, but for ZeRO-2 and -3.

    ValueError for a precision whose types on the wire are not known.
    """
    if precision not in WIRE:
        raise ValueError(f"precision is one of {', '.join(WIRE)}, got {precision!r}")
    if sharding.data_ranks == 1:
        return
    gathered, reduced = WIRE[precision]
    weights = RankWeights(setup.model, sharding)
    if sharding.zero:
        piped = precision == "fsdp2" and sharding.pipeline > 1
        yield from _sharded(setup, sharding, weights.units, len(weights.layers), gathered, reduced, piped)
        return
    for axis, name, wanted in (("replicas", "gradients", False), ("replicas of experts", "gradients of experts", True)):
        sizes = [numel * reduced for numel, split in weights.tensors() if (split == EXPERT) == wanted]
        yield from _reduced(setup, sharding, axis, name, bucket_sizes(reversed(sizes)))


def gathers_in_a_pipeline(sharding: Sharding) -> tuple[int, int]:
    """How often FSDP2 gathers a unit of a 1F1B stage in a step: (before forwards, before backwards).

    With zero=3 ("always" in torchtitan) before the forwards that come before any backward, and before each backward after a forward; with
    zero=2 ("never") once.
    """
    first = sharding.in_flight
    return (first, sharding.micro_batches - first + 1) if sharding.zero == 3 else (1, 0)


def _reduced(setup: Setup, sharding: Sharding, axis: str, name: str, buckets: Iterable[int]) -> Iterator[Traffic]:
    """An all_reduce a bucket, as DDP makes them."""
    nranks, stride = strides(sharding)[axis]
    if nranks == 1:
        return
    where = place(setup.machine, nranks, stride)
    for nbytes, times in Counter(buckets).most_common():
        yield Traffic(name, "data", "all_reduce", nbytes, times, where)


def _sharded(
    setup: Setup, sharding: Sharding, units: tuple[int, ...], blocks: int, gathered: int, reduced: int, piped: bool
) -> Iterator[Traffic]:
    """Unit by unit, a block each and the rest, filled up so that all ranks share them. ZeRO-3 gathers the rest once: FSDP2 keeps it.

    piped: FSDP2 in a pipeline.
    """
    (shards, stride), steps = strides(sharding)["shards"], sharding.micro_batches
    where, others = place(setup.machine, shards, stride), place(setup.machine, *strides(sharding)["replicas"])
    reductions = steps if sharding.zero > 1 and not piped else 1
    twice, once = (sum(gathers_in_a_pipeline(sharding)),) * 2 if piped else (2 * steps, steps)
    for units_here, kind, gathers in (
        (units[:blocks], "", twice if sharding.zero == 3 else 1),
        (units[blocks:], " of the rest", once if sharding.zero == 3 else 1),
    ):
        for numel, many in Counter(padded(unit, shards) for unit in units_here).items():
            yield Traffic(f"weights{kind}", "data", "all_gather", numel * gathered, many * gathers, where)
            yield Traffic(f"gradients{kind}", "data", "reduce_scatter", numel * reduced, many * reductions, where)
            if sharding.replicas > 1:
                part = numel // shards * reduced
                yield Traffic(f"shards of gradients{kind}", "replica", "all_reduce", part, many * reductions, others)
