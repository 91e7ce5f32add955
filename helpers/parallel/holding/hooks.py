"""Where a step is stopped: hooks before and after those of whoever shares the model out. Chapters: data-parallel, sharded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import nn

from .moments import SLOTS, Moments


def before_wrapping(layers: Sequence[nn.Module], moments: Moments) -> None:
    """Hooks that run before those of whoever shares out: a layer has computed, all of its gradients are there."""
    for unit, layer in enumerate(layers):
        layer.register_forward_hook(lambda *_, unit=unit: moments.note("forward", unit))
        arrivals = Arrivals(len(list(layer.parameters())), unit, moments)
        for p in layer.parameters():
            p.register_post_accumulate_grad_hook(arrivals)


def after_wrapping(layers: Sequence[nn.Module], moments: Moments) -> None:
    """Hooks that run after theirs: what was lent is given back."""
    for unit, layer in enumerate(layers):
        layer.register_forward_hook(lambda *_, unit=unit: freed(moments, unit))
        freeing = Arrivals(len(list(layer.parameters())), unit, moments, freed)
        for p in layer.parameters():
            p.register_post_accumulate_grad_hook(freeing)


class Arrivals:
    """Counts a layer's gradients; `then` when the last is there."""

    def __init__(self, number: int, unit: int, moments: Moments, then: Callable[[Moments, int], None] | None = None):
        self.number, self.waiting, self.unit, self.moments = number, number, unit, moments
        self.then = then or arrived

    def __call__(self, parameter: nn.Parameter) -> None:
        if self.then is arrived:
            self.moments.own([parameter.grad], self.unit, "gradient")
        self.waiting -= 1
        if self.waiting == 0:
            self.waiting = self.number
            self.then(self.moments, self.unit)


def arrived(moments: Moments, unit: int) -> None:
    """A layer's backward is over."""
    moments.unit = unit
    moments.note("backward", unit)


def freed(moments: Moments, unit: int) -> None:
    """A moment where the layer has fewer bytes than at the last in what was lent and in gradients."""
    if not moments.on or not moments.noted:
        return
    lent = [SLOTS.index(slot) for slot in ("gathered", "gradient", "reduced")]
    now, last = moments.held()[0][unit], moments.noted[-1]["held"][unit]
    if sum(now[i] for i in lent) < sum(last[i] for i in lent):
        moments.note("free", unit)
