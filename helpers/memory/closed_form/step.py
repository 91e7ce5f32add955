"""A whole training step: what stands in memory at each moment that can be the highest, and which of them is.

The second step, when the optimizer's numbers are there from the start. Chapters: too-big; the memory calculator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

from helpers.facts import Model
from helpers.memory.closed_form import fsdp2_moments
from helpers.memory.closed_form.activations import activations, known
from helpers.memory.closed_form.fsdp2_moments import Units
from helpers.memory.closed_form.fsdp2_pipeline import Piped
from helpers.memory.closed_form.moments import Choice, moment, plain
from helpers.memory.closed_form.terms import Term, Terms
from helpers.memory.closed_form.weights import RankWeights
from helpers.memory.sharding import ALONE, Sharding
from helpers.units import nbytes_text


@dataclass(frozen=True)
class Step:
    """Every moment with its terms. peak: the highest; where: its name."""

    title: str
    moments: Mapping[str, Terms]

    @cached_property
    def where(self) -> str:
        """The moment with the most bytes; the first of them if there are several."""
        return max(self.moments, key=lambda name: self.moments[name].total)

    @property
    def peak(self) -> int:
        """Bytes at the highest moment."""
        return self.terms.total

    @property
    def terms(self) -> Terms:
        """What stands there at the highest moment."""
        return self.moments[self.where]

    def __str__(self) -> str:
        others = (f"{name}: {nbytes_text(terms.total)}" for name, terms in self.moments.items())
        return f"{self.title}\n{self.terms}\n" + "; ".join(others)

    def _repr_html_(self) -> str:
        return self.terms._repr_html_()


def step(
    model: Model | str,
    batch: int = 1,
    seq: int | None = None,
    precision: str = "bf16",
    optimizer: str = "adamw",
    checkpoint: str = "none",
    attention: str = "flash",
    dropout: float = 0.0,
    sharding: Sharding = ALONE,
) -> Step:
    """One rank's training step. batch: sequences of one micro-batch; seq: tokens of each, the model's context unless told.

    precision "fsdp2": torch's FSDP2, fp32 shards computed in bf16. sharding: how the ranks share the step out, and which of them this is.
    FormError and ShardingError for what cannot be.
    """
    model = known(model)
    seq = model.context if seq is None else seq
    types = fsdp2_moments.COMPUTES if precision == "fsdp2" else precision
    forward = partial(activations, model, batch, seq, types, attention, dropout=dropout, sharding=sharding)
    kept = forward(checkpoint=checkpoint)
    again = _again(forward()["blocks"], kept, checkpoint)
    choice = Choice(model, batch, seq, types, optimizer, sharding, kept, again, checkpoint)
    return Step(_title(choice, precision), _fsdp2(choice) if precision == "fsdp2" else _plain(choice))


def _again(whole: Term, kept: Terms, checkpoint: str) -> Term | None:
    """What of one block is computed again: all, or what selective checkpointing did not keep."""
    there = kept["blocks"].operators if checkpoint == "selective" else ()
    missing = tuple(one for one in whole.operators if one not in there)
    if checkpoint == "none" or not missing:
        return None
    formula = whole.formula if not there else " + ".join(dict.fromkeys(one.formula for one in missing))
    return replace(whole, name="one block, computed again", operators=missing, formula=formula, times=1)


def _plain(c: Choice) -> dict[str, Terms]:
    return {name: moment(name, one, c) for name, one in plain(c).items()}


def _fsdp2(c: Choice) -> dict[str, Terms]:
    """In a pipeline those of a stage's first backward, and of one with gradients of another one beside it."""
    held, split = RankWeights(c.model, c.sharding), c.sharding

    def of(units: Units, when: str = "") -> dict[str, Terms]:
        choice = replace(c, fsdp2=units)
        return {f"{name}{when}": moment(name, one, choice) for name, one in units.moments().items()}

    if split.pipeline == 1:
        return of(Units(held, split))
    later = of(Piped(held, split, later=True), ", later") if split.micro_batches > 1 else {}
    return of(Piped(held, split)) | later


def _title(c: Choice, precision: str) -> str:
    split = [f"ZeRO-{c.sharding.zero} on {c.sharding.shards} ranks"] if c.sharding.zero else []
    split += [f"context parallel {c.sharding.context}"] if c.sharding.context > 1 else []
    split += [f"tensor parallel {c.sharding.tensor}"] if c.sharding.tensor > 1 else []
    split += [f"stage {c.sharding.stage} of {c.sharding.pipeline}"] if c.sharding.pipeline > 1 else []
    return ", ".join([f"{c.model.name}, batch {c.batch}, {c.seq:,} tokens, {precision}, {c.optimizer}", *split])
