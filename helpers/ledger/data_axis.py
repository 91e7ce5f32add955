"""What the data axis costs beside computation: `helpers.overlap` on the ledger's sizes and links. Chapters: sharded, meshes.

Of replicas that are shared out in teams, what shows is what the step is longer by than with one team alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from helpers.ledger.clock import Key
from helpers.ledger.places import Place, place, strides
from helpers.ledger.setups import Setup
from helpers.ledger.states import WIRE, gathers_in_a_pipeline
from helpers.ledger.traffic import Traffic
from helpers.memory import Sharding
from helpers.memory.closed_form import padded
from helpers.memory.closed_form.weights import EXPERT, RankWeights
from helpers.memory.payloads import FIRST, REST
from helpers.overlap import FSDP2, Overlap, Replicas, Unit, fill, gathered, overlap

Costs = dict[Key, tuple[float, float]]  # seconds that messages last, and those of them that show


def of_data_axis(
    setup: Setup, sharding: Sharding, precision: str, forward: float, backward: float, ahead: bool = False
) -> Costs:
    """Of a whole step. forward, backward: seconds of one micro-batch on this rank, with the collectives inside it.

    ahead: ZeRO-1's and -2's weights are gathered beside the next step's forward.
    """
    if sharding.data_ranks == 1:
        return {}
    if precision == "fsdp2" and sharding.pipeline > 1:
        return _in_a_pipeline(setup, sharding, forward, backward)
    if sharding.zero == 3:
        return _fully_sharded(setup, sharding, precision, forward, backward)
    found: Costs = {}
    for level, one, times in _reduced(setup, sharding, precision, backward):
        whole, shown = found.get(("data", level), (0.0, 0.0))
        found["data", level] = whole + times * one.communication, shown + times * one.exposed
    return _with_gather(setup, sharding, precision, found, sharding.micro_batches * forward if ahead else 0.0)


def _fully_sharded(setup: Setup, sharding: Sharding, precision: str, forward: float, backward: float) -> Costs:
    m, one = sharding.micro_batches, fully_sharded(setup, sharding, precision, forward, backward)
    found: Costs = {("data", _shards(setup, sharding).level): (m * one.communication, m * one.exposed)}
    if sharding.replicas > 1:
        all_of_it = fully_sharded(setup, sharding, precision, forward, backward, _replicas(setup, sharding))
        more = all_of_it.communication - one.communication, max(0.0, all_of_it.exposed - one.exposed)
        found["replica", _others(setup, sharding).level] = m * more[0], m * more[1]
    return found


def _in_a_pipeline(setup: Setup, sharding: Sharding, forward: float, backward: float) -> Costs:
    """FSDP2 there gathers beside a forward or a backward, and reduces when nothing is left to hide it."""
    where, others, (_, reduced) = _shards(setup, sharding), _others(setup, sharding), WIRE["fsdp2"]
    times = gathers_in_a_pipeline(sharding)
    passes = [_gathers(setup, sharding, seconds, way) for way, seconds in enumerate((forward, backward))]
    sizes = [padded(unit, sharding.shards) * reduced for unit in RankWeights(setup.model, sharding).units]
    after = sum(map(seconds_of("reduce_scatter", where), sizes))
    lasts, shows = (
        sum(n * getattr(one, what) for n, one in zip(times, passes, strict=True)) + after
        for what in ("communication", "exposed")
    )
    found: Costs = {("data", where.level): (lasts, shows)}
    if sharding.replicas > 1:
        more = sum(seconds_of("all_reduce", others)(nbytes // sharding.shards) for nbytes in sizes)
        found["replica", others.level] = more, more
    return found


def _gathers(setup: Setup, sharding: Sharding, seconds: float, way: int) -> Overlap:
    """Every unit once, beside one pass of so many seconds. way: 0 is forward, the rest before the blocks; 1 is backward."""
    weights, (wide, _) = RankWeights(setup.model, sharding), WIRE["fsdp2"]
    blocks, price = len(weights.layers), seconds_of("all_gather", _shards(setup, sharding))
    sizes = [padded(unit, sharding.shards) * wide for unit in weights.units]
    units = [Unit(seconds / blocks, 0.0, nbytes, 0) for nbytes in sizes[:blocks]]
    rest = [Unit(0.0, 0.0, nbytes, 0) for nbytes in sizes[blocks:]]
    row = [*units, *rest] if way else [*rest, *units]
    return gathered(row, FSDP2[way], lambda nbytes: price(nbytes) if nbytes else 0.0, reshard=False)


def fully_sharded(
    setup: Setup,
    sharding: Sharding,
    precision: str,
    forward: float,
    backward: float,
    replicas: Replicas | None = None,
) -> Overlap:
    """A micro-batch of FSDP2: a unit a block, each as long as the others, and the rest, which is kept and computes nothing."""
    wide, reduced = WIRE[precision]
    weights = RankWeights(setup.model, sharding)
    blocks = len(weights.layers)
    units = [
        Unit(
            forward / blocks,
            backward / blocks,
            padded(unit, sharding.shards) * wide,
            padded(unit, sharding.shards) * reduced,
        )
        for unit in weights.units[:blocks]
    ]
    rest = [
        Unit(0.0, 0.0, padded(unit, sharding.shards) * wide, padded(unit, sharding.shards) * reduced, kept=True)
        for unit in weights.units[blocks:]
    ]
    price = seconds_of("all_gather", _shards(setup, sharding))
    return gathered([*rest, *units], FSDP2, price, replicas=replicas)


def _replicas(setup: Setup, sharding: Sharding) -> Replicas:
    """They share a link with the shards where both cross the network, or both stay in a node."""
    shards, others = _shards(setup, sharding), _others(setup, sharding)
    return Replicas(sharding.shards, seconds_of("all_reduce", others), apart=shards.level != others.level)


def _reduced(setup: Setup, sharding: Sharding, precision: str, backward: float) -> Iterator[tuple[str, Overlap, int]]:
    """(level, overlap, times) of the gradients: beside each backward with ZeRO-2, else beside the last one alone."""
    if sharding.zero:
        where, layers = _shards(setup, sharding), _by_unit(setup, sharding, precision, backward)
        times = sharding.micro_batches if sharding.zero == 2 else 1
        yield where.level, overlap(backward, fill(layers, 1), seconds_of("reduce_scatter", where)), times
        return
    for axis, experts in (("replicas", False), ("replicas of experts", True)):
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
        (backward / blocks if place < blocks else 0.0, padded(unit, sharding.shards) * WIRE[precision][1])
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
    where = _shards(setup, sharding)
    price = seconds_of("all_gather", where)
    units = RankWeights(setup.model, sharding).units
    after = sum(price(padded(unit, sharding.shards) * WIRE[precision][0]) for unit in units)
    whole, shown = found["data", where.level]
    return found | {("data", where.level): (whole + after, shown + max(0.0, after - beside))}


def _shards(setup: Setup, sharding: Sharding) -> Place:
    return place(setup.machine, *strides(sharding)["shards"])


def _others(setup: Setup, sharding: Sharding) -> Place:
    return place(setup.machine, *strides(sharding)["replicas"])


def seconds_of(collective: str, where: Place) -> Callable[[int], float]:
    """What a call of so many bytes takes there: NCCL's model, else the price."""
    return lambda nbytes: _seconds(collective, nbytes, where)


@lru_cache(maxsize=4096)
def _seconds(collective: str, nbytes: int, where: Place) -> float:
    return Traffic("a call", "data", collective, nbytes, 1, where).seconds
