"""The pipelines of the table of all strategies. Chapter: pipeline."""

from __future__ import annotations

from functools import partial

from helpers.parallel.model import MLP
from helpers.parallel.reference import Training
from helpers.parallel.strategy import Strategy
from helpers.pipeline import SCHEDULES

from . import meshed, ours, torchs
from .ours import Pipeline


def on(nranks: int) -> tuple[Strategy, ...]:
    """All four schedules on so many ranks, ours and torch's: two layers a rank, enough to interleave, and two microbatches."""
    training = Training(MLP(layers=2 * nranks), batch=2 * nranks, optimizer="adamw")
    return tuple(made(name, training) for made in (_ours, _torchs) for name in SCHEDULES)


def _ours(name: str, training: Training) -> Strategy:
    how = Pipeline(name, training.batch)
    paper = partial(ours.predicted, how=how)
    return Strategy(f"pipeline, {SCHEDULES[name].title}", partial(ours.train, how=how), paper, training)


def _torchs(name: str, training: Training) -> Strategy:
    how, by = Pipeline(name, training.batch), SCHEDULES[name].torch
    paper = partial(ours.predicted, how=how)
    return Strategy(f"pipeline, {by}", partial(torchs.train, how=how), paper, training, by=by)


FOUR = on(4)
STRATEGIES = (*FOUR, Strategy("2 pipelines, 1F1B", meshed.train, meshed.predicted, FOUR[0].training))
