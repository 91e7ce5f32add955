"""What the data axis costs beside computation: `helpers.overlap` on the ledger's sizes and links. Chapters: sharded, meshes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from helpers.ledger.places import Place, place, strides
from helpers.ledger.setups import Setup
from helpers.ledger.states import WIRE
from helpers.ledger.traffic import Traffic
from helpers.memory import Sharding
from helpers.memory.closed_form import padded
from helpers.memory.closed_form.weights import EXPERT, RankWeights
from helpers.memory.payloads import FIRST, REST
from helpers.overlap import FSDP2, Overlap, Unit, fill, gathered, overlap

Costs = dict[str, tuple[float, float]]  # by level: seconds that messages last, and those of them that show


def of_data_axis(
    setup: Setup, sharding: Sharding, precision: str, forward: float, backward: float, ahead: bool = False
) -> Costs:
    """Of a whole step. forward, backward: seconds of one micro-batch on this rank, with the collectives inside it.

    ahead: ZeRO-1's and -2's weights are gathered beside the next step's forward.
    """
    if sharding.data == 1:
        return {}
    if sharding.zero == 3:
        one = fully_sharded(setup, sharding, precision, forward, backward)
        m = sharding.micro_batches
        return {_data(setup, sharding).level: (m * one.communication, m * one.exposed)}
    found: Costs = {}
    for level, one, times in _reduced(setup, sharding, precision, backward):
        whole, shown = found.get(level, (0.0, 0.0))
        found[level] = whole + times * one.communication, shown + times * one.exposed
    return _with_gather(setup, sharding, precision, found, sharding.micro_batches * forward if ahead else 0.0)


def fully_sharded(setup: Setup, sharding: Sharding, precision: str, forward: float, backward: float) -> Overlap:
    """A micro-batch of FSDP2: a unit a block, each as long as the others, and the rest, which is kept and computes nothing."""
    wide, reduced = WIRE[precision]
    weights = RankWeights(setup.model, sharding)
    blocks = len(weights.layers)
    units = [
        Unit(
            forward / blocks,
            backward / blocks,
            padded(unit, sharding.data) * wide,
            padded(unit, sharding.data) * reduced,
        )
        for unit in weights.units[:blocks]
    ]
    rest = [
        Unit(0.0, 0.0, padded(unit, sharding.data) * wide, padded(unit, sharding.data) * reduced, kept=True)
        for unit in weights.units[blocks:]
    ]
    return gathered([*rest, *units], FSDP2, seconds_of("all_gather", _data(setup, sharding)))


def _reduced(setup: Setup, sharding: Sharding, precision: str, backward: float) -> Iterator[tuple[str, Overlap, int]]:
    """(level, overlap, times) of the gradients: beside each backward with ZeRO-2, else beside the last one alone."""
    if sharding.zero:
        where, layers = _data(setup, sharding), _by_unit(setup, sharding, precision, backward)
        times = sharding.micro_batches if sharding.zero == 2 else 1
        yield where.level, overlap(backward, fill(layers, 1), seconds_of("reduce_scatter", where)), times
        return
    for axis, experts in (("data", False), ("replicas of experts", True)):
        nranks, stride = strides(sharding)[axis]
        layers = _by_tensor(setup, sharding, precision, backward, experts)
        if nranks > 1 and any(nbytes for _, nbytes in layers):
            where = place(setup.machine, nranks, stride)
            yield where.level, overlap(backward, fill(layers, REST, FIRST), seconds_of("all_reduce", where)), 1


def _by_unit(setup: Setup, sharding: Sharding, precision: str, backward: float) -> list[tuple[float, int]]:
    """(seconds of backward, bytes) of each block, the last first, and of the rest, whose embedding is the last to have a gradient."""
    weights = RankWeights(setup.model, sharding)
    blocks = len(weights.layers)
    return [
        (backward / blocks if place < blocks else 0.0, padded(unit, sharding.data) * WIRE[precision][1])
        for place, unit in sorted(enumerate(weights.units), key=lambda one: (one[0] >= blocks, -one[0]))
    ]


def _by_tensor(
    setup: Setup, sharding: Sharding, precision: str, backward: float, experts: bool
) -> list[tuple[float, int]]:
    """The same of each tensor, as DDP's buckets take them: as long as it is large, but for the embedding, which is looked up.

    experts: only theirs have bytes, or only all others have.
    """
    tensors = list(RankWeights(setup.model, sharding).tensors())
    multiplied = sum(numel for numel, _ in tensors[sharding.first :])
    found = [
        (backward * numel / multiplied, numel * WIRE[precision][1] * ((split == EXPERT) == experts))
        for numel, split in tensors
    ]
    return [*found[:0:-1], (0.0, found[0][1])] if sharding.first else found[::-1]


def _with_gather(setup: Setup, sharding: Sharding, precision: str, found: Costs, beside: float) -> Costs:
    """The weights after the update, unit by unit. beside: seconds of computation that hide them."""
    if not sharding.zero:
        return found
    where = _data(setup, sharding)
    price = seconds_of("all_gather", where)
    units = RankWeights(setup.model, sharding).units
    after = sum(price(padded(unit, sharding.data) * WIRE[precision][0]) for unit in units)
    whole, shown = found[where.level]
    return found | {where.level: (whole + after, shown + max(0.0, after - beside))}


def _data(setup: Setup, sharding: Sharding) -> Place:
    return place(setup.machine, *strides(sharding)["data"])


def seconds_of(collective: str, where: Place) -> Callable[[int], float]:
    """What a call of so many bytes takes there: NCCL's model, else the price."""
    return lambda nbytes: _seconds(collective, nbytes, where)


@lru_cache(maxsize=4096)
def _seconds(collective: str, nbytes: int, where: Place) -> float:
    return Traffic("a call", "data", collective, nbytes, 1, where).seconds
