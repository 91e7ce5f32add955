"""The two jobs of the running example: a model, machines, and how many tokens make a step. Chapters: data-parallel to meshes."""

from __future__ import annotations

from dataclasses import dataclass

from helpers.facts import ACCELERATORS, MACHINES, MODELS, Accelerator, Machine, Model
from helpers.ledger.flops import Flops, flops


@dataclass(frozen=True)
class Setup:
    """A job. sequences: of all GPUs together in one step; seq: tokens of each."""

    name: str
    model: Model
    machine: Machine
    sequences: int
    seq: int

    @property
    def accelerator(self) -> Accelerator:
        return ACCELERATORS[self.machine.accelerator]

    @property
    def peak(self) -> float:
        """FLOP/s of one GPU for bf16 products, dense, as its datasheet says."""
        return self.accelerator.peak("bf16").number

    @property
    def capacity(self) -> int:
        """Bytes of one GPU's memory, as its datasheet says."""
        return int(self.accelerator.hbm_capacity.number)

    @property
    def tokens(self) -> int:
        """Of a step, of all GPUs together."""
        return self.sequences * self.seq

    def flops(self, checkpoint: str = "none", pairs: str = "all") -> Flops:
        """Of a step of all GPUs together, as `helpers.ledger.flops` counts it."""
        return flops(self.model, self.tokens, self.seq, checkpoint, pairs)

    def __str__(self) -> str:
        where = f"{self.machine.nranks} {self.machine.accelerator}"
        return f"{self.model.name} on {where}, {self.sequences} sequences of {self.seq:,} tokens a step"


# A sequence a GPU, each as long as the model's context: what one rank of plain data parallel has, and every other way shares out.
SETUPS = {
    "7B": Setup("7B", MODELS["Llama-2-7B"], MACHINES["HGX-H200"], 8, 4096),
    "70B": Setup("70B", MODELS["Llama-3-70B"], MACHINES["8x8-IB"], 64, 8192),
}
