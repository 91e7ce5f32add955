"""Moved away or computed again: seconds of either, at rates that nobody exceeds.

Both are lower bounds. A transfer may hide behind computation, a recomputation may not; neither reaches the datasheet's rate.
Chapter: too-big.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from helpers.facts import Model
from helpers.memory.closed_form import FormError, activations
from helpers.memory.closed_form.activations import known
from helpers.memory.closed_form.terms import one_of, whole
from helpers.units import Bandwidth, nbytes_text, seconds_text

# Bytes that cross the link for each parameter and step, (out, back), and what they are.
OPTIMIZER = {
    "cpu update": (2, 2, "gradients out, new weights back; the CPU holds and updates 12 B a parameter"),
    "gpu update": (12, 12, "master weights, momentum and variance in, and out again"),
}


@dataclass(frozen=True)
class Tradeoff:
    """One way to free memory. freed: bytes; moved: bytes over the link, there and back together; flops: done once more."""

    name: str
    freed: int
    moved: int
    flops: int
    seconds: float
    why: str

    def __str__(self) -> str:
        return f"{self.name}: frees {nbytes_text(self.freed)} for at least {seconds_text(self.seconds)} a step ({self.why})"


def forward_flops(model: Model | str, batch: int, seq: int) -> int:
    """FLOPs of the blocks' forward pass: two for each weight that a token meets, and the causal half of attention's scores."""
    model = known(model)
    whole(batch=batch, seq=seq)
    inside = model.layers * _matrices(model)
    scores = 2 * batch * seq * seq * model.layers * model.heads * model.head_dim
    return 2 * inside * batch * seq + scores


def _matrices(model: Model) -> int:
    """Weights of one layer that a token is multiplied with; of a mixture those of the experts it visits."""
    if model.latent:
        raise FormError(f"{model.name}: the list of what latent attention keeps is not written")
    around = model.norm_nparams * 2
    return model.layer_nparams(model.active) - around


def move_activations(
    model: Model | str, link: Bandwidth, batch: int = 1, seq: int | None = None, precision: str = "bf16"
) -> Tradeoff:
    """What the blocks keep goes to the host during forward and comes back during backward. UnitError unless link is one way."""
    model = known(model)
    kept = activations(model, batch, seq, precision)["blocks"].nbytes
    why = f"there and back at {link}"
    return Tradeoff("activations moved", kept, 2 * kept, 0, 2 * link.seconds(kept), why)


def recompute(
    model: Model | str, flops: float, batch: int = 1, seq: int | None = None, precision: str = "bf16"
) -> Tradeoff:
    """Full checkpointing: the blocks' forward runs once more, at `flops` FLOP/s. What stays is each block's input, and one block."""
    model = known(model)
    seq = model.context if seq is None else seq
    _rate(flops)
    blocks = activations(model, batch, seq, precision)["blocks"]
    inputs = activations(model, batch, seq, precision, checkpoint="full")["block inputs"].nbytes
    again = forward_flops(model, batch, seq)
    freed = blocks.nbytes - inputs - blocks.nbytes // model.layers
    return Tradeoff(
        "activations recomputed", freed, 0, again, again / flops, f"one more forward at {flops / 1e12:g} TFLOP/s"
    )


def move_optimizer(model: Model | str, link: Bandwidth, where: str = "cpu update") -> Tradeoff:
    """Adam's numbers on the host. "cpu update": ZeRO-Offload, which also needs the CPU's seconds (not counted here)."""
    model = known(model)
    one_of(tuple(OPTIMIZER), where=where)
    out, back, why = OPTIMIZER[where]
    seconds = link.seconds(out * model.nparams) + link.seconds(back * model.nparams)
    return Tradeoff(
        f"optimizer moved, {where}", 12 * model.nparams, (out + back) * model.nparams, 0, seconds, f"{why}, at {link}"
    )


def step_seconds(model: Model | str, flops: float, batch: int = 1, seq: int | None = None) -> float:
    """The least that a step computes: forward, and twice that backward, in the blocks; to put the prices beside."""
    model = known(model)
    _rate(flops)
    return 3 * forward_flops(model, batch, model.context if seq is None else seq) / flops


def _rate(flops: float) -> None:
    if isinstance(flops, bool) or not isinstance(flops, (int, float)) or not math.isfinite(flops) or flops <= 0:
        raise FormError(f"flops is a positive number of FLOP/s, got {flops!r}")
