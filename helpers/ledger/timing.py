"""A step timed: arithmetic, messages that nothing hides, waiting, the update. Chapters: sharded, context, meshes.

Arithmetic is counted FLOPs at a share of the datasheet's peak (`efficiency`). Collectives of the tensor and expert axes stand between
two products and count in full, in forward or in backward as each call has it; what shows on the context axis says `context_axis`. Those
of the data axis run beside computation as `helpers.overlap` has it: gradients in DDP's buckets while backward goes on, shards unit by
unit as FSDP2 asks for them. ZeRO-1 and -2 gather weights after the update, where nothing hides them. `HIDES` are two more ways to hide,
at their best, as Megatron-LM has switches for them. Stages wait as 1F1B has it, messages included. The update reads and writes memory
at the datasheet's rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from helpers.ledger.clock import Clock
from helpers.ledger.context_axis import longer, uneven
from helpers.ledger.data_axis import of_data_axis
from helpers.ledger.flops import AGAIN, Flops
from helpers.ledger.setups import Setup
from helpers.ledger.traffic import Traffic
from helpers.memory import Sharding
from helpers.memory.closed_form.states import OPTIMIZERS
from helpers.memory.closed_form.weights import RankWeights
from helpers.pipeline import SCHEDULES, Times, timeline

BLOCKING = ("tensor", "expert")  # the next product wants their result
# "tensor": a blocking collective goes on in pieces beside the products before and after it (--tp-comm-overlap); at best it shows only
# where it is longer than they. "weights": ZeRO-1's gather runs beside the next forward (--overlap-param-gather).
HIDES = ("tensor", "weights")


class Work(NamedTuple):
    """One micro-batch on one rank of a stage, in seconds: products and what shows of calls between them, in forward and in backward."""

    forward: float
    backward: float
    calls_forward: float
    calls_backward: float
    shown: float = 1.0  # of the blocking collectives' time, the share that shows
    context: float = 0.0  # of the calls' seconds, those of the context axis

    @property
    def there(self) -> float:
        return self.forward + self.calls_forward

    @property
    def back(self) -> float:
        return self.backward + self.calls_backward

    @property
    def whole(self) -> float:
        return self.there + self.back


def clock(
    setup: Setup,
    stages: Sequence[tuple[Sharding, tuple[Traffic, ...]]],
    precision: str,
    counted: Flops,
    efficiency: float,
    optimizer: str = "adamw",
    hides: Sequence[str] = (),
) -> Clock:
    """stages: the first, one in the middle and the last, each with its traffic; one where there is no pipeline.

    counted: FLOPs of a whole step of all GPUs. efficiency: of the peak for products, as `helpers.ledger.efficiency` has it.
    hides: of HIDES, ValueError for another.
    """
    if unknown := [name for name in hides if name not in HIDES]:
        raise ValueError(f"what may be hidden besides is {' or '.join(HIDES)}, got {unknown[0]!r}")
    hidden = "tensor" in hides
    works = [work(setup, one, traffic, counted, efficiency, hidden, precision) for one, traffic in stages]
    busy = max(range(len(stages)), key=lambda i: works[i].whole)
    sharding, traffic = stages[busy]
    m, mine = sharding.micro_batches, works[busy]
    data = of_data_axis(setup, sharding, precision, mine.there, mine.back, "weights" in hides)
    exposed = {(t.axis, t.level): 0.0 for t in traffic if t.axis != "pipeline"}
    communication = dict(exposed)
    for one in traffic:
        if one.axis in BLOCKING:
            exposed[one.axis, one.level] += one.seconds * mine.shown
        if one.axis in (*BLOCKING, "context"):
            communication[one.axis, one.level] += one.seconds
        if one.axis == "context":
            exposed[one.axis, one.level] = m * mine.context
    for key, (whole, shown) in data.items():
        communication[key], exposed[key] = whole, shown
    return Clock(
        setup.tokens,
        setup.machine.nranks,
        counted,
        setup.peak,
        compute=m * (mine.forward + mine.backward),
        exposed=exposed,
        communication=communication,
        waits=_waits(stages, works, sum(shown for _, shown in data.values()) / m if sharding.zero == 3 else 0.0),
        update=_update(setup, sharding, optimizer),
    )


def work(
    setup: Setup,
    sharding: Sharding,
    traffic: Sequence[Traffic],
    counted: Flops,
    efficiency: float,
    hides: bool = False,
    precision: str = "bf16",
) -> Work:
    """Of one micro-batch on a rank of `sharding.stage`. hides: collectives of the tensor axis go on beside products."""
    each = 1 / (sharding.data_ranks * sharding.micro_batches * sharding.tensor)
    here = len(sharding.layers(setup.model)) / setup.model.layers
    rate = setup.peak * efficiency
    more = (uneven(setup.seq, sharding) - 1) * counted.scores
    ahead = here * (counted.blocks + counted.scores + more) + sharding.last * counted.head
    again = here * (counted.again + AGAIN[counted.checkpoint][1] * more)
    forward, backward = each * ahead / rate, each * (2 * ahead + again) / rate
    m, blocking = sharding.micro_batches, [t for t in traffic if t.axis in BLOCKING]
    calls = sum(t.seconds for t in blocking) / m
    first = sum(t.seconds * t.forward / t.times for t in blocking if t.forward) / m
    shows = max(0.0, 1 - (forward + backward) / calls) if hides and calls else 1.0
    batch = setup.sequences // (sharding.data * m)
    there, back = longer(setup, sharding, batch, precision, counted.checkpoint, rate)
    return Work(forward, backward, first * shows + there, (calls - first) * shows + back, shows, there + back)


def _waits(stages: Sequence[tuple[Sharding, tuple[Traffic, ...]]], works: Sequence[Work], more: float) -> float:
    """What 1F1B adds to the longest stage's own work; more: seconds that each micro-batch waits for its shards."""
    sharding = stages[0][0]
    p, m = sharding.pipeline, sharding.micro_batches
    if p == 1:
        return 0.0
    sends = [t for _, traffic in stages for t in traffic if t.axis == "pipeline"]
    hop = max(t.seconds / t.times for t in sends)
    middle = works[len(works) // 2 if len(works) > 2 else 0]
    longer = {0: works[0].whole / middle.whole, p - 1: works[-1].whole / middle.whole}
    there, back = middle.there, middle.back
    found = _makespan(p, m, there + more / 3, back + more * 2 / 3, hop, tuple(longer.items()))
    return found - m * (max(one.whole for one in works) + more)


@lru_cache(maxsize=512)
def _makespan(
    p: int, m: int, forward: float, backward: float, hop: float, longer: tuple[tuple[int, float], ...]
) -> float:
    times = Times(forward, backward / 2, backward / 2, hop)
    return float(timeline(SCHEDULES["1f1b"](p, m), times, dict(longer)).makespan)


def _update(setup: Setup, sharding: Sharding, optimizer: str) -> float:
    """The optimizer's trip over the memory of its parameters: all that are here, or this rank's shard."""
    numel = sum(RankWeights(setup.model, sharding).units) / sharding.shards
    trips = 3 + 2 * len(OPTIMIZERS[optimizer])  # weight and gradient in, weight out; each moment in and out; all fp32
    return numel * 4 * trips / setup.accelerator.hbm.bandwidth.value
