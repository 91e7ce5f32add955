"""Four real ranks whose memory the book replays, one clock for all. Chapters: too-big, sharded."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from helpers.memory import Trace
from helpers.ranks import Ranks
from helpers.step.recipe import article_model

from .watched import watched

NRANKS = 4
SIZE = {"layers": 4, "width": 128, "heads": 4, "ffn": 512, "dropout": 0.0}
SHAPE = (1, 32, SIZE["width"])  # batch, tokens, width of one rank: states are what this is about


def sharded_traces(way: str, nranks: int = NRANKS) -> list[Trace]:
    """Two steps of a small transformer on Gloo ranks, a trace for each rank. way: see helpers.parallel.zero.watched.WAYS."""
    with Ranks(nranks, backend="gloo") as ranks:
        return ranks.run(_rank, way)


def _rank(way: str) -> Trace:
    torch.set_num_threads(1)
    trace = watched(way, _model, torch.ones(SHAPE), _loss)
    return replace(trace, about={**trace.about, "precision": "fp32"})


def _model() -> nn.Module:
    torch.manual_seed(0)
    return article_model(**SIZE)


def _loss(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().mean()
