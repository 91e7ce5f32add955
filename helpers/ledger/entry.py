"""A line of the ledger: all that one rank moves and holds in a step. Chapters: data-parallel to meshes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from helpers.facts import Model
from helpers.ledger.clock import Clock
from helpers.ledger.context_axis import context_traffic, held
from helpers.ledger.efficiency import efficiency_of
from helpers.ledger.flops import EARLY
from helpers.ledger.layers import layer_traffic
from helpers.ledger.setups import SETUPS, Setup
from helpers.ledger.states import state_traffic
from helpers.ledger.timing import clock
from helpers.ledger.traffic import Traffic
from helpers.memory import Sharding
from helpers.memory.closed_form import Step, step
from helpers.memory.closed_form.activations import known
from helpers.pipeline import SCHEDULES, bubble_share
from helpers.units import GIB, nbytes_text, seconds_text

LEVELS = ("node", "network")
HEADER = ("what", "axis", "collective", "ranks", "crosses", "times", "size", "sent", "price", "predict")


@dataclass(frozen=True)
class Entry:
    """A setup shared out in one way. traffic: of the stage whose calls last longest; step: of the stage that holds most.

    `priced` and `predicted` are calls one after another, nothing hidden; `clock` is the whole step, with what hides. Not counted: the
    norm of the gradients and other calls of a few bytes. stages: the first, one in the middle and the last, each with its traffic.
    """

    setup: Setup
    sharding: Sharding
    precision: str
    checkpoint: str
    traffic: tuple[Traffic, ...]
    step: Step
    stages: tuple[tuple[Sharding, tuple[Traffic, ...]], ...]
    efficiency: float
    optimizer: str = "adamw"
    hides: tuple[str, ...] = ()

    @property
    def sent(self) -> float:
        """Bytes that one rank sends in a step."""
        return float(sum(t.sent for t in self.traffic))

    def sent_over(self, level: str) -> float:
        """Of these, in groups that stay inside a "node", or that cross the "network". ValueError for another level."""
        if level not in LEVELS:
            raise ValueError(f"a level is one of {', '.join(LEVELS)}, got {level!r}")
        return float(sum(t.sent for t in self.traffic if t.level == level))

    @property
    def priced(self) -> float:
        """Seconds of all calls by `helpers.collectives.price`."""
        return sum(t.priced for t in self.traffic)

    @property
    def predicted(self) -> float:
        """Seconds by NCCL's own model, where it has one for the call, else the price."""
        return sum(t.priced if t.predicted is None else t.predicted for t in self.traffic)

    @property
    def nbytes(self) -> int:
        """Bytes of one GPU at the highest moment, by the closed form."""
        return self.step.peak

    @property
    def gib(self) -> float:
        """The same in GiB."""
        return self.nbytes / GIB

    @property
    def fits(self) -> bool:
        """Into the memory of the GPU, as its datasheet has it; what the driver and the allocator keep is not counted."""
        return self.nbytes <= self.setup.capacity

    @cached_property
    def bubble(self) -> float:
        """The share of a step in which a rank of a 1F1B pipeline waits, (p-1) / (m+p-1); 0 without stages."""
        p, m = self.sharding.pipeline, self.sharding.micro_batches
        return float(bubble_share(SCHEDULES["1f1b"](nranks=p, nmicrobatches=m))) if p > 1 else 0.0

    @cached_property
    def clock(self) -> Clock:
        """The step in seconds, part by part; tokens a second, MFU and HFU, with every query and every key counted."""
        how = self.efficiency, self.optimizer, self.hides
        return clock(self.setup, self.stages, self.precision, self.setup.flops(self.checkpoint), *how)

    @property
    def binds(self) -> str:
        """What would have to change first: "memory" where it does not fit, else the longest part of the step (`Clock.parts`).

        Where that is messages, and calls without bytes would last at least half as long: "latency".
        """
        if not self.fits:
            return "memory"
        longest = max(self.clock.parts, key=self.clock.parts.__getitem__)
        those = [t for t in self.traffic if t.level == longest]
        late = bool(those) and 2 * sum(t.latency for t in those) >= sum(t.seconds for t in those)
        return "latency" if late else longest

    @property
    def name(self) -> str:
        """The way, in words."""
        words = replace(self.sharding, stage=0)
        return str(words).replace(f"stage 0 of {words.pipeline}", f"{words.pipeline} stages")

    def __str__(self) -> str:
        cells = [HEADER, *(t.row() for t in self.traffic)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(HEADER))]
        lines = ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in cells]
        idle = f"; a bubble of {self.bubble:.1%}" if self.bubble else ""
        fits = "fits" if self.fits else "does not fit"
        return "\n".join(
            [
                f"{self.setup}: {self.name}, {self.precision}, checkpoint {self.checkpoint}",
                *lines,
                f"one rank sends {nbytes_text(self.sent)}, {seconds_text(self.priced)} by price, "
                f"{seconds_text(self.predicted)} by NCCL's model{idle}; "
                f"holds {self.gib:.1f} GiB of {self.setup.capacity / GIB:.1f}: {fits}",
            ]
        )


def entry(
    setup: Setup | str,
    sharding: Sharding,
    precision: str = "bf16",
    checkpoint: str = "none",
    optimizer: str = "adamw",
    model: Model | str | None = None,
    efficiency: float | None = None,
    hides: Sequence[str] = (),
    regather: bool = False,
) -> Entry:
    """A line. setup: one of SETUPS, or a Setup; model: another one on the same machines; `stage` of the sharding is not looked at.

    precision, checkpoint, optimizer: as helpers.memory.closed_form.step has them; checkpoint "full" computes every product again, and
    "full, early stop" as torch.utils.checkpoint does by default (flops.AGAIN). efficiency: of the peak for products, by default
    what published runs on such GPUs reach. hides: of helpers.ledger.timing.HIDES. regather: sequence parallelism as Megatron-LM has it
    (`layer_traffic`).
    ValueError for a setup that is not known, ranks that are not the machine's, sequences that do not divide; ShardingError for a model
    that cannot be shared out so.
    """
    known_setup = _setup(setup, model)
    if efficiency is not None and not efficiency > 0:
        raise ValueError(f"an efficiency is a share of the peak, more than 0, got {efficiency!r}")
    if not isinstance(sharding, Sharding):
        raise ValueError(f"a way to share out is a Sharding, as Sharding(data=8), got {sharding!r}")
    batch = _batch(known_setup, sharding)
    sharding.check(known_setup.model, known_setup.seq)
    sharding.check_context(known_setup.model, known_setup.seq)
    stages = [replace(sharding, stage=i) for i in sorted({0, min(1, sharding.pipeline - 1), sharding.pipeline - 1})]
    moved = [(one, _traffic(known_setup, one, batch, precision, checkpoint, regather)) for one in stages]
    model, how = known_setup.model, (precision, optimizer, "full" if checkpoint == EARLY else checkpoint)
    filled = [step(model, batch, known_setup.seq, *how, sharding=one) for one in stages]
    filled = [
        held(each, known_setup, one, batch, precision, checkpoint) for each, one in zip(filled, stages, strict=True)
    ]
    busiest = max((traffic for _, traffic in moved), key=lambda traffic: sum(t.priced for t in traffic))
    fullest = max(filled, key=lambda one: one.peak)
    reached = efficiency_of(known_setup.accelerator.name) if efficiency is None else efficiency
    return Entry(
        known_setup,
        sharding,
        precision,
        checkpoint,
        busiest,
        fullest,
        tuple(moved),
        reached,
        optimizer,
        tuple(hides),
    )


def _traffic(
    setup: Setup, sharding: Sharding, batch: int, precision: str, checkpoint: str, regather: bool
) -> tuple[Traffic, ...]:
    states = state_traffic(setup, sharding, precision)
    keys = context_traffic(setup, sharding, batch, precision, checkpoint)
    return (*states, *layer_traffic(setup, sharding, batch, precision, checkpoint, regather), *keys)


def _setup(setup: Setup | str, model: Model | str | None) -> Setup:
    if not isinstance(setup, Setup) and setup not in SETUPS:
        raise ValueError(f"a setup is one of {', '.join(SETUPS)}, got {setup!r}")
    found = SETUPS[setup] if isinstance(setup, str) else setup
    return found if model is None else replace(found, model=known(model))


def _batch(setup: Setup, sharding: Sharding) -> int:
    """Sequences of one micro-batch."""
    machine = setup.machine
    if sharding.nranks != machine.nranks:
        raise ValueError(
            f"data * context * tensor * pipeline are the {machine.nranks} GPUs of {machine.title}, got {sharding.nranks}"
        )
    parts = sharding.data * sharding.micro_batches
    if setup.sequences % parts:
        fits = [m for m in range(1, setup.sequences + 1) if setup.sequences % (sharding.data * m) == 0]
        raise ValueError(
            f"{setup.sequences} sequences are not shared by {sharding.data} data ranks x {sharding.micro_batches} micro-batches; "
            f"micro_batches that work: {', '.join(map(str, fits)) or 'none for so many data ranks'}"
        )
    return setup.sequences // parts
