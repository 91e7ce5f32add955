"""The pipelines of the table of all strategies. Chapter: pipeline."""

from __future__ import annotations

from functools import partial

from helpers.parallel.model import MLP
from helpers.parallel.reference import Training
from helpers.parallel.strategy import Strategy
from helpers.pipeline import SCHEDULES

from . import meshed, ours, torchs
from .ours import Pipeline

TRAINED = Training(MLP(layers=8), batch=8, optimizer="adamw")  # two layers for each of 4 ranks: enough to interleave


def _ours(name: str) -> Strategy:
    how = Pipeline(name)
    paper = partial(ours.predicted, how=how)
    return Strategy(f"pipeline, {SCHEDULES[name].title}", partial(ours.train, how=how), paper, TRAINED)


def _torchs(name: str) -> Strategy:
    how, by = Pipeline(name), SCHEDULES[name].torch
    paper = partial(ours.predicted, how=how)
    return Strategy(f"pipeline, {by}", partial(torchs.train, how=how), paper, TRAINED, by=by)


STRATEGIES = (
    *map(_ours, SCHEDULES),
    *map(_torchs, SCHEDULES),
    Strategy("2 pipelines, 1F1B", meshed.train, meshed.predicted, TRAINED),
)
