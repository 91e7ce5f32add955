"""The exercises of the chapter `too-big`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from helpers.facts import MODELS
from helpers.memory.closed_form import kv_cache
from helpers.units import GIB, nbytes_text

from .answer import Answer, NotYetError, judge

CAPACITY = 80 * GIB


@dataclass(frozen=True)
class Moments:
    """The first and the last moment at which a step's peak can sit, in bytes (between them lies the first block's backward).

    states: weights and optimizer's numbers; gradients; kept: activations at the end of forward; recomputed: those that full
    checkpointing keeps; loss: temporaries when backward starts, in the loss; update: temporaries in the optimizer's step.
    """

    states: int
    gradients: int
    kept: int
    recomputed: int
    loss: int
    update: int

    def peak(self, kept: int) -> int:
        """The higher of the two. At the start of backward no gradient is there yet; in the step no activation is left."""
        return self.states + max(kept + self.loss, self.gradients + self.update)

    @property
    def saved(self) -> int:
        """What full checkpointing takes off the peak."""
        return self.peak(self.kept) - self.peak(self.recomputed)


MOMENTS = (
    Moments(100, 10, 0, 0, 0, 0),
    Moments(100, 10, 50, 5, 2, 1),
    Moments(100, 60, 50, 5, 2, 1),
    Moments(100, 30, 90, 60, 20, 3),
    Moments(100, 30, 31, 5, 20, 40),
)
FORGOTTEN = {
    "every layer, 5 a s^2 b more than flash attention keeps": "flash",
    "half of the KV cache": "values",
    "34 s b h a layer, called checkpointing": "full",
    "12 B a parameter with Adam": "gradients",
    "a cache as wide as the model, for Llama-3-8B": "groups",
}


def gpus(answer: Callable[[int, int], int]) -> Answer:
    """answer(nparams, capacity): how many GPUs of `capacity` bytes hold 16 bytes for every parameter, if each keeps 1/N of all."""
    cases = [(model.nparams, CAPACITY) for model in MODELS.values()]
    cases += [(CAPACITY // 16, CAPACITY), (CAPACITY // 16 + 1, CAPACITY)]
    return judge(sorted(cases), lambda case: _gpus(answer, *case), "As many as the bytes need, and not one more.")


def _gpus(answer: Callable[[int, int], int], nparams: int, capacity: int) -> None:
    want, got = math.ceil(16 * nparams / capacity), answer(nparams, capacity)
    if got != want:
        gpus = "1 GPU" if want == 1 else f"{want} GPUs"
        raise NotYetError(
            f"{nparams:,} parameters are {nbytes_text(16 * nparams)}: {gpus} of {nbytes_text(capacity)}, you said {got!r}."
            " Hint: 16 bytes a parameter, and a rest needs a GPU, too."
        )


def saved(answer: Callable[[Moments], int]) -> Answer:
    """answer(moments): the bytes that full checkpointing takes off the peak of the step."""
    return judge(MOMENTS, lambda case: _saved(answer, case), "What counts is the peak, and the peak can move.")


def _saved(answer: Callable[[Moments], int], case: Moments) -> None:
    got = answer(case)
    if got != case.saved:
        before, after = case.peak(case.kept), case.peak(case.recomputed)
        raise NotYetError(
            f"{case}: the peak falls from {before} to {after}, so {case.saved} are saved; you said {got!r}."
            " Hint: take the higher of two moments, before and after."
        )


def cache(answer: Callable[[object, int, int], int]) -> Answer:
    """answer(model, batch, seq): bytes of the KV cache in 16 bits, for each model of helpers.facts.MODELS."""
    cases = [(model, batch, seq) for seq in (1, 8192) for model in MODELS.values() for batch in (1, 4)]
    return judge(cases, lambda case: _cache(answer, *case), f"All {len(MODELS)} models, short and long.")


def _cache(answer: Callable[[object, int, int], int], model: object, batch: int, seq: int) -> None:
    want, got = kv_cache(model, batch, seq).nbytes, answer(model, batch, seq)
    if got != want:
        raise NotYetError(
            f"{model.name}, batch {batch}, {seq:,} token{'s' * (seq != 1)}: {want:,} bytes ({nbytes_text(want)}), you said {_said(got)}."
            f" Hint: {_hint(model, seq)}"
        )


def _said(got: object) -> str:
    return f"{got:,}" if isinstance(got, int | float) else repr(got)


def _hint(model: object, seq: int) -> str:
    if model.latent:
        return "a token keeps one latent vector and one rotary key a layer, for all heads together."
    if model.window and seq > model.window:
        return f"it looks back {model.window:,} tokens; what is older is not needed again."
    return "keys and values, for the KV heads only, two bytes each."


def forgot(answer: Mapping[str, str]) -> Answer:
    """answer: for each symptom of FORGOTTEN which word explains it: flash, values, full, gradients, groups."""
    return judge(FORGOTTEN, lambda symptom: _forgot(answer, symptom), "Five calculators, five forgotten terms.")


def _forgot(answer: Mapping[str, str], symptom: str) -> None:
    got = answer.get(symptom)
    if got != FORGOTTEN[symptom]:
        raise NotYetError(f"{got!r} does not explain {symptom!r}. Hint: write the right term below it, and divide.")
