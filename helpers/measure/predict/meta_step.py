"""One training step on the meta device, in parts: what is asked for (Setup), and forward, backward and update (MetaStep).

Sharding is a MetaStep of its own: it replaces the model, the optimizers or a part. Chapters: too-big.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from helpers.facts import Model
from helpers.step import checkpointing, hf_trainer, models
from helpers.step import precision as types
from helpers.step.autocasting import autocast
from helpers.tracker.tracker import Tracker


@dataclass(frozen=True)
class Setup:
    """What is asked for, checked: predict_step's arguments. model: a Model, or an nn.Module with `inputs` and `loss`."""

    model: Model | nn.Module
    batch: int
    seq: int
    optimizer: str
    precision: str
    checkpoint: str
    attention: str
    dropout: float
    chunks: int
    loss: Callable[[Tensor], Tensor] | None
    inputs: object
    accumulate: int
    zero_grad: str
    operators: str = "cuda"
    chunking: str = "recompute"
    trainer: str = ""

    @property
    def label(self) -> str:
        """One line that says what was predicted."""
        what = type(self.model).__name__
        if isinstance(self.model, Model):
            what = f"{self.model.name}, batch {self.batch}, {self.seq:,} tokens"
        again = "" if self.checkpoint == "none" else f", {self.checkpoint} checkpointing"
        added = "" if self.accumulate == 1 else f", gradients of {self.accumulate} micro-batches added up"
        late = "" if self.zero_grad == "after step" else f", zero_grad {self.zero_grad}"
        return f"{what}, {self.precision}, {self.optimizer}{again}{added}{late}"

    def build(self) -> nn.Module:
        """The model on meta, in its type, with its checkpointing; a given module is copied first."""
        dtype = types.computes(self.precision)
        if isinstance(self.model, Model):
            built = models.build(self.model, attention=self.attention, dropout=self.dropout, dtype=dtype)
            self.share_out_loss(built)
        else:
            built = onto_meta(self.model, dtype)
        return checkpointing.apply(built, self.checkpoint, self.around)

    def share_out_loss(self, built: models.Transformer) -> None:
        """Tell a model in which pieces to compute its loss."""
        built.chunks, built.chunking = self.chunks, self.chunking
        built.apart = self.chunking == "torchtitan" and self.chunks > 1 and self.precision in types.FSDP2
        built.again = checkpointing.recompute(self.around)

    @property
    def around(self) -> Callable:
        """The context that forward runs in, and whatever is computed again."""
        return partial(autocast, like=self.operators) if self.precision == "autocast" else nullcontext

    def batch_of(self) -> tuple | dict:
        """What goes into the model: tokens and targets, or what `inputs` is or makes, on meta and in the weights' type.

        A dict holds keyword arguments.
        """
        if isinstance(self.model, Model):
            tokens = torch.empty(self.batch, self.seq, dtype=torch.int64, device="meta")
            count = (torch.empty((), dtype=torch.int64, device="meta"),) if self.trainer else ()
            return tokens, torch.empty_like(tokens), *count
        made = self.inputs() if callable(self.inputs) else self.inputs
        made = made if isinstance(made, tuple | list | Mapping) else (made,)
        return _moved(made, types.computes(self.precision))


def onto_meta(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    """A copy without its bytes, floating types as `dtype`. What is one tensor there is one here: Module.to("meta") unties tied weights."""
    memo: dict[int, object] = {}
    for parameter in module.parameters():
        memo[id(parameter)] = nn.Parameter(_moved(parameter.detach(), dtype), parameter.requires_grad)
    for buffer in module.buffers():
        memo[id(buffer)] = _moved(buffer, dtype)
    return copy.deepcopy(module, memo)


def _moved(value: object, dtype: torch.dtype) -> object:
    if isinstance(value, Tensor):
        return torch.empty_like(value, dtype=dtype if value.is_floating_point() else value.dtype, device="meta")
    if isinstance(value, Mapping):
        return {key: _moved(one, dtype) for key, one in value.items()}
    return tuple(_moved(one, dtype) for one in value) if isinstance(value, tuple | list) else value


class MetaStep:
    """One training step in three parts. Sharding replaces the model, the optimizers or a part."""

    def __init__(self, setup: Setup, model: nn.Module | None = None, optimizers: list | None = None) -> None:
        self.setup = setup
        self.model = setup.build() if model is None else model
        self.inputs = setup.batch_of()
        if optimizers is None:
            optimizers = [types.optimizer(setup.optimizer, self.model.parameters(), setup.precision)]
        self.optimizers = optimizers
        self.output: object = None

    def begin(self, watch: Tracker) -> None:
        """Before the first step: what is there already gets its class."""
        for one in self.optimizers:
            watch.register({"fp32 weight": list(getattr(one, "masters", {}).values())}, "optimizer")
            watch.register({"fp32 gradient": list(getattr(one, "main_grads", {}).values())}, "gradient")
        watch.label(label=self.setup.label)

    def forward(self) -> Tensor:
        """The loss. A given module's output stays alive as the variable in a training loop does: to the step's end, or to the next one."""
        if self.setup.trainer and isinstance(self.setup.model, Model):
            return hf_trainer.forward(self.model, *self.inputs, self.setup.around)
        with self.setup.around():
            output = self.model(**self.inputs) if isinstance(self.inputs, dict) else self.model(*self.inputs)
            if self.setup.loss is None:
                return output
            if self.setup.trainer:
                return self.setup.loss(hf_trainer.in_fp32(output))
            self.output = output
            return self.setup.loss(output)

    def backward(self, loss: Tensor) -> None:
        """Gradients of all parameters."""
        loss.backward()

    def update(self) -> None:
        """The optimizer's step."""
        if self.setup.trainer:
            hf_trainer.clip(self.model)
        for one in self.optimizers:
            one.step()

    def zero_grad(self) -> None:
        """Gradients go."""
        for one in self.optimizers:
            one.zero_grad()
