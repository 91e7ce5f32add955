"""FSDP2 in a pipeline: what UNSHARD, RESHARD and REDUCE_GRAD do to the parts of the model that a rank has. Chapter: too-big."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from types import SimpleNamespace

from torch import nn

from helpers.pipeline.action import Action

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
            from torch.distributed.pipelining.stage import _PipelineStageBase

            _PipelineStageBase.perform_reduce_grad(SimpleNamespace(submod=part), 1)
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
        if action.kind == "B" and self.parts:
            part = self.parts[action.stage]
            part.set_is_last_backward(False)
            part.set_reshard_after_backward(False)
            part.set_requires_gradient_sync(False)
