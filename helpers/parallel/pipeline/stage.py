"""One stage of a pipeline on its rank: some layers, and what waits there for its backward. Chapter: pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import torch
from torch import Tensor

from helpers.parallel.model import Batch, Model, Params, Transformer

from .deferred import Left, deferring


class Stage:
    """Layers `layers` of a model. first, last: whether the model begins and ends here. params: at least those layers'.

    splits: whether backward comes in two parts. A step: `load` its microbatches, then forward, backward (or input_gradient and
    weight_gradient) of each. `loss` is the step's so far, of the last stage. most: how many microbatches held activations at once.
    """

    def __init__(self, model: Model, layers: range, params: Params, splits: bool):
        self.model, self.layers, self.params, self.splits = model, layers, params, splits
        self.first, self.last = layers.start == 0, layers.stop == model.depth
        self.most = 0
        self.load([], 1)

    def load(self, microbatches: Sequence[Batch], terms: int) -> None:
        """A new step: its microbatches, and how many terms the loss of all of them together has."""
        self.microbatches, self.terms, self.loss = microbatches, terms, 0.0
        self.waiting: dict[int, tuple[Tensor, torch.autograd.graph.GradientEdge, Tensor | None]] = {}
        self.left: dict[int, list[Left]] = {}

    def forward(self, microbatch: int, x: Tensor | None) -> Tensor | None:
        """x: what the stage before made, None at the first. What the next stage gets; None at the last, whose loss it is."""
        x = self.microbatches[microbatch].x if x is None else x.requires_grad_()
        with deferring(self.left.setdefault(microbatch, [])) if self.splits else nullcontext():
            out = self._through(x)
        if self.last:
            total, _ = self.model.loss_sum(out, self.microbatches[microbatch].y)
            out = total / self.terms  # so that the gradients of all microbatches add up to those of the mean
            self.loss += out.detach().double()
        # The output itself may go once it is sent
        one = torch.ones_like(out) if self.last else None
        self.waiting[microbatch] = x, torch.autograd.graph.get_gradient_edge(out), one
        self.most = max(self.most, len(self.waiting.keys() | self.left.keys()))
        return None if self.last else out.detach()

    def _through(self, x: Tensor) -> Tensor:
        for i in self.layers:
            x = self.model.layer(i, self.params, x)
        return x

    def backward(self, microbatch: int, dy: Tensor | None) -> Tensor | None:
        """dy: the gradient of what forward gave, None at the last. What the stage before gets; None at the first."""
        x, edge, one = self.waiting.pop(microbatch)
        torch.autograd.backward((edge,), (one if self.last else dy,))
        return None if self.first else x.grad

    def input_gradient(self, microbatch: int, dy: Tensor | None) -> Tensor | None:
        """The part of backward that the stage before waits for: linears leave their weights' gradients."""
        return self.backward(microbatch, dy)

    def weight_gradient(self, microbatch: int) -> None:
        """The part that was left."""
        for one in self.left.pop(microbatch):
            one.accumulate()

    def empty(self) -> Tensor:
        """Room for what a neighbour sends: of the shape of its output or of its gradient, which are one."""
        return next(iter(self.params.values())).new_empty(crossing(self.model, len(self.microbatches[0].x)))


def crossing(model: Model, samples: int) -> tuple[int, ...]:
    """The shape of what passes from stage to stage for one microbatch: [samples, width], a transformer's [samples, seq, width]."""
    return (samples, model.seq, model.width) if isinstance(model, Transformer) else (samples, model.width)
