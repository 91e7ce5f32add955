"""torch.cuda.nccl: one process calls for all its GPUs at once."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import torch

from . import machine


def _all_reduce(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor] | None = None) -> None:
    total = sum(x.cpu() for x in inputs)
    for out in outputs or inputs:
        out.copy_(total)


def _all_gather(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    whole = torch.cat([x.cpu() for x in inputs])
    for out in outputs:
        out.copy_(whole)


def _reduce_scatter(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    parts = sum(x.cpu() for x in inputs).chunk(len(inputs))
    for out, part in zip(outputs, parts, strict=True):
        out.copy_(part)


def module() -> SimpleNamespace:
    """In the place of torch.cuda.nccl."""
    calls = {"all_reduce": _all_reduce, "all_gather": _all_gather, "reduce_scatter": _reduce_scatter}
    return SimpleNamespace(version=lambda: machine.NCCL, **calls)
