"""FSDP2 in a pipeline: what torch.distributed.pipelining asks of the parts of the model that a rank has, and when. Chapter: too-big."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

from torch import nn

from helpers.pipeline.action import Action

from .fsdp2 import sharded


class Stages:
    """What torch's stages ask of the parts of the model that a rank has, and when. parts: by their stage; program: of this rank's step.

    No backward reduces, and what it has gathered stays; once the last gradient of a part has been sent on, all of it is reduced and freed.
    A rank with several parts gathers them ahead of their use.
    """

    def __init__(self, parts: Mapping[int, nn.Module], program: Sequence[Action]):
        self.parts, self.moves = parts, asked(program) if len(parts) > 1 else {}
        self.ends = {max(i for i, one in enumerate(program) if _of(one, stage)): stage for stage in parts}
        self.handles: dict[int, list] = defaultdict(list)

    def before(self, at: int, action: Action) -> None:
        """The at-th action is next."""
        for kind, stage in self.moves.get(at, ()):
            for module in sharded(self.parts[stage]):
                if kind == "UNSHARD":
                    self.handles[stage].append(module.unshard(async_op=True))
                else:
                    module.reshard()
        if action.computes:
            for handle in self.handles.pop(action.stage, ()):
                handle.wait()
        if action.kind == "B" and self.parts:
            part = self.parts[action.stage]
            part.set_is_last_backward(False)
            part.set_reshard_after_backward(False)
            part.set_requires_gradient_sync(False)

    def after(self, at: int) -> None:
        """The at-th action is over."""
        if at in self.ends:
            from torch.distributed.pipelining.stage import _PipelineStageBase

            _PipelineStageBase.perform_reduce_grad(SimpleNamespace(submod=self.parts[self.ends[at]]), 1)


def _of(action: Action, stage: int) -> bool:
    """Is it a backward of the stage, or does it send on what one gave?"""
    return action.stage == stage and action.kind in ("B", "SEND_B")


def asked(program: Sequence[Action]) -> dict[int, list[tuple[str, int]]]:
    """Before which of a rank's actions torch's schedules gather (UNSHARD) or drop (RESHARD) which stages."""
    from torch.distributed.pipelining.schedules import _Action, _add_unshard_reshard

    computes = [at for at, one in enumerate(program) if one.computes]
    found, done = defaultdict(list), 0
    for one in _add_unshard_reshard([_Action.from_str(str(program[at])) for at in computes]):
        if one.computation_type.name not in ("UNSHARD", "RESHARD"):
            done += 1
        elif done < len(computes):  # behind the last one all is freed already
            found[computes[done] if done else 0].append((one.computation_type.name, one.stage_index))
    return dict(found)
