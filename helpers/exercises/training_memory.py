"""The exercises of the chapter `training-memory`: each answer is held against steps that are watched on the meta device."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import torch
from torch import nn

from helpers.measure import StepProfile, cuda_like, profile_step, track
from helpers.memory import CLASSES
from helpers.units import nbytes_text

from .answer import Answer, NotYetError, judge

SMALL = {"layers": 2, "width": 128, "heads": 4, "ffn": 512, "optimizer": "adamw-foreach", "like_cuda": True}
SLACK = 0.02  # step counts, the loss, and the allocator's rounding to 512 bytes


@cache
def _profile(batch: int, seq: int, steps: int = 1) -> StepProfile:
    return profile_step(batch=batch, seq=seq, steps=steps, **SMALL)


def _number(where: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise NotYetError(f"{where}: expected a number of bytes, got {value!r}.")
    return value


# the stages --------------------------------------------------------------------------------------------------------------
def stages(answer: Callable[[int, int], tuple[float, float, float]]) -> Answer:
    """answer(params, batch): bytes alive after backward, after Adam's first step and after zero_grad, in fp32.

    params: bytes of the parameters; batch: bytes of the input, which has the output's size. Both are still in the script's hands.
    """
    cases = [(1, 16), (4, 64), (16, 128), (64, 128)]
    return judge(cases, lambda case: _stages(answer, *case), f"All three stages of {len(cases)} watched steps.")


def _stages(answer: Callable, batch: int, seq: int) -> None:
    found = _profile(batch, seq)
    params, given = 4 * found.nparams, found.stage("input").by_class["input"]
    where = f"For {nbytes_text(params)} of parameters and an input of {nbytes_text(given)}"
    got = answer(params, given)
    if not (isinstance(got, (tuple, list)) and len(got) == 3):
        raise NotYetError(f"{where}: expected three numbers of bytes, got {got!r}.")
    for name, said in zip(("after backward", "after step", "after zero_grad"), got, strict=True):
        want = found.stage(name).nbytes
        if abs(_number(f"{where}, {name}", said) / want - 1) > SLACK:
            hint = "Hint: what does the script still hold beside the model's own?"
            raise NotYetError(
                f"{where}, {name}: you said {nbytes_text(max(said, 0))}, it is {nbytes_text(want)}. {hint}"
            )


# what a feed-forward layer keeps -----------------------------------------------------------------------------------------
def kept(answer: Callable[[int, int, float], float]) -> Answer:
    """answer(rows, width, dropout): bytes that Linear, ReLU, Dropout, Linear keep for backward beside their input, fp32 as on CUDA.

    The layer is four times as wide inside. rows: batch times tokens.
    """
    cases = [(rows, width, p) for rows, width in ((1, 128), (64, 256), (4096, 512)) for p in (0.1, 0.0)]
    return judge(cases, lambda case: _kept(answer, *case), f"What is kept, to the byte, for {len(cases)} layers.")


def _kept(answer: Callable, rows: int, width: int, dropout: float) -> None:
    want = _watched_layer(rows, width, dropout)
    where = f"For {rows} row{'s' * (rows != 1)} of width {width} with dropout {dropout:g}"
    got = _number(where, answer(rows, width, dropout))
    if got != want:
        raise NotYetError(
            f"{where}: you said {got:,.0f} B, it is {want:,} B. Hint: which tensors does each operator's backward need, how many"
            " bytes has a mask's element, and does anybody make a copy when nothing is dropped?"
        )


@cache
def _watched_layer(rows: int, width: int, dropout: float) -> int:
    with cuda_like(), torch.device("meta"):
        layer = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(4 * width, width))
        batch = torch.empty(rows, width)
        with track(layer, None, batch) as watch:
            out = layer(batch)
            watch.mark("kept")
            assert out.shape == batch.shape
    return int(watch.trace.by_class[-1, CLASSES.index("activation")])


# where the peak is -------------------------------------------------------------------------------------------------------
def peak_phase(answer: Callable[[int, int, int], str]) -> Answer:
    """answer(params, kept, steps): "backward" or "step", where the highest moment of so many training steps lies.

    fp32, foreach Adam, whose state is made in the first step. params, kept: bytes of the parameters and of what forward keeps.
    """
    cases = [(tokens, steps) for tokens in (32, 96, 256, 512) for steps in (1, 2)]
    return judge(
        cases, lambda case: _phase(answer, *case), f"The right place in {len(cases)} runs of one and two steps."
    )


def _phase(answer: Callable, tokens: int, steps: int) -> None:
    found = _profile(1, tokens, steps)
    params, held = 4 * found.nparams, found.stage("after forward").by_class["activation"]
    where = f"For {nbytes_text(params)} of parameters, {nbytes_text(held)} kept and {steps} step{'s' * (steps > 1)}"
    got = answer(params, held, steps)
    if got not in ("backward", "step"):
        raise NotYetError(f'{where}: expected "backward" or "step", got {got!r}.')
    if got != found.peak.phase:
        raise NotYetError(
            f"{where}: you said {got!r}, the peak is in {found.peak.phase!r}: {found.peak.nbytes / params:.2f} times the"
            " parameters. Hint: what is alive when backward begins, and what while the optimizer works?"
        )
