"""What others published, and what the ledger says of the same run: one number is fitted for each kind of GPU. Chapter: meshes.

for one in compared(): print(one.run, one.run.tokens_per_second, one.tokens_per_second, one.ratio)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import exp, fsum, log

from helpers.facts import MACHINES, RUNS
from helpers.facts.run import Run
from helpers.ledger.clock import Clock
from helpers.ledger.efficiency import chip, efficiency_of
from helpers.ledger.layers import layer_traffic
from helpers.ledger.setups import Setup
from helpers.ledger.states import state_traffic
from helpers.ledger.timing import clock
from helpers.memory import Sharding

ONE_NODE = 8  # GPUs: runs on one node are what the efficiency is fitted to; all others are left for the test


@dataclass(frozen=True)
class Compared:
    """A published run and the ledger's step for it. ratio: the ledger's tokens a second over the published ones."""

    run: Run
    clock: Clock

    @property
    def tokens_per_second(self) -> float:
        """Of one GPU, by the ledger."""
        return self.clock.tokens_per_second

    @property
    def published(self) -> float:
        """Of one GPU, by the source; from its FLOP/s where it gives these, as the source counts them."""
        if self.run.tokens_per_second:
            return self.run.tokens_per_second
        counted = setup_of(self.run).flops(pairs=self.run.pairs)
        return self.run.tflops * 1e12 * self.run.sequences * self.run.seq / counted.model

    @property
    def ratio(self) -> float:
        return self.tokens_per_second / self.published

    @property
    def fitted(self) -> bool:
        """Was the efficiency fitted to this run, among others?"""
        return self.run.gpus == ONE_NODE


def compared(runs: Iterable[Run] = RUNS) -> list[Compared]:
    """Every run with the ledger's step, at the efficiency of its GPU."""
    return [compared_at(run, efficiency_of(setup_of(run).accelerator.name)) for run in runs]


def compared_at(run: Run, efficiency: float) -> Compared:
    """A run at a given efficiency."""
    setup, sharding = setup_of(run), sharding_of(run)
    counted = setup.flops(run.checkpoint)
    checkpoint = "full" if counted.whole else "none"
    stages = [replace(sharding, stage=i) for i in sorted({0, min(1, run.pipeline - 1), run.pipeline - 1})]
    both = [
        (
            one,
            (
                *state_traffic(setup, one, run.precision),
                *layer_traffic(setup, one, run.batch, run.precision, checkpoint),
            ),
        )
        for one in stages
    ]
    return Compared(run, clock(setup, both, run.precision, counted, efficiency, hides=run.hides))


def setup_of(run: Run) -> Setup:
    """Its model and GPUs, as the ledger has jobs."""
    machine = MACHINES[run.machine]
    return Setup(str(run), run.model, replace(machine, nodes=run.gpus // machine.gpus), run.sequences, run.seq)


def sharding_of(run: Run) -> Sharding:
    """Tensor ranks share tokens too, as both torchtitan and Megatron-LM have them."""
    return Sharding(
        data=run.data,
        zero=run.zero,
        tensor=run.tensor,
        sequence=run.tensor > 1,
        pipeline=run.pipeline,
        micro_batches=run.micro_batches,
    )


def fit(name: str, runs: Iterable[Run] = RUNS) -> float:
    """The efficiency at which the geometric mean of the ratios of an accelerator's runs on one node is 1."""
    those = [run for run in runs if run.gpus == ONE_NODE and chip(setup_of(run).accelerator.name) == chip(name)]
    if not those:
        raise ValueError(f"no published run on one node of {name}")
    low, high = 0.05, 1.0
    while high - low > 1e-5:
        middle = (low + high) / 2
        mean = exp(fsum(log(compared_at(run, middle).ratio) for run in those) / len(those))
        low, high = (low, middle) if mean > 1 else (middle, high)
    return (low + high) / 2
