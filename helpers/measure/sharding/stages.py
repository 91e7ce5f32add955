"""FSDP2 in a pipeline: what UNSHARD, RESHARD and REDUCE_GRAD do to the parts of the model that a rank has. Chapter: too-big."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from types import MethodType, SimpleNamespace

from torch import nn

from helpers.pipeline.schedule import Action

from .fsdp2 import sharded


class Stages:
    """parts: a rank's, by their stage. No backward reduces, and what it has gathered stays until the program frees it."""

    def __init__(self, parts: Mapping[int, nn.Module]):
        self.parts = parts
        self.handles: dict[int, list] = defaultdict(list)

    def do(self, action: Action) -> None:
        """One of SHARDS."""
        part = self.parts[action.stage]
        if action.kind == "REDUCE_GRAD":
            _reduce(part)
            return
        for module in sharded(part):
            if action.kind == "UNSHARD":
                self.handles[action.stage].append(module.unshard(async_op=True))
            else:
                module.reshard()

    def before(self, action: Action) -> None:
        """A computation is next: what it needs is waited for, and its backward reduces nothing."""
        for handle in self.handles.pop(action.stage, ()):
            handle.wait()
        part = self.parts.get(action.stage)
        if action.kind == "F" and hasattr(part, "set_manual_backward_finalization"):  # torch 2.15, instead of the next
            part.set_manual_backward_finalization(True)
        if action.kind == "B" and part is not None:
            part.set_is_last_backward(False)
            part.set_reshard_after_backward(False)
            part.set_requires_gradient_sync(False)


def _reduce(part: nn.Module) -> None:
    """What torch's stage does of it; from 2.15 on it calls two more of its methods."""
    from torch.distributed.pipelining.stage import _PipelineStageBase

    stage = SimpleNamespace(submod=part, has_backward=True, _gradient_reduction_handle=None)
    theirs = {
        one: getattr(_PipelineStageBase, one, None)
        for one in ("start_gradient_reduction", "wait_for_gradient_reduction")
    }
    vars(stage).update({name: MethodType(method, stage) for name, method in theirs.items() if method})
    _PipelineStageBase.perform_reduce_grad(stage, 1)
