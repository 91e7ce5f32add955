"""What belongs to the optimizer: gradients once they are accumulated, state as soon as it appears, and its phases.

Chapters: training-memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice

import torch
from torch import nn
from torch.optim import Optimizer

from helpers.patches import ZEROING

from .dispatch import Dispatch, tensors
from .ledger import Ledger


def states(optimizer: Optimizer) -> Iterator[tuple[torch.Tensor, str, torch.Tensor]]:
    """(parameter, key, tensor) of everything that the optimizer keeps."""
    for parameter, state in optimizer.state.items():
        for key, value in state.items():
            for tensor in tensors(value):
                yield parameter, str(key), tensor


class Follower:
    """One optimizer's hooks. While it steps, the state that it made last is looked at ahead of every allocation."""

    def __init__(self, model: nn.Module, ledger: Ledger, dispatch: Dispatch) -> None:
        self.ledger, self.dispatch = ledger, dispatch
        self.seen = 0, 0

    def begin(self, optimizer: Optimizer, *_: object) -> None:
        """Step pre-hook. Gradients that no hook has seen (set by hand, or by FSDP) are found here."""
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                self.gradient(parameter)
        self.ledger.place.begin_step()
        self.dispatch.before = lambda: self.newest(optimizer)

    def end(self, optimizer: Optimizer, *_: object) -> None:
        """Step post-hook: all of the state, whenever it was made."""
        self.dispatch.before = None
        for parameter, key, tensor in states(optimizer):
            self._claim(parameter, key, tensor)
        self.ledger.place.end_step()

    def newest(self, optimizer: Optimizer) -> None:
        """State is made parameter by parameter, in order: only the last entry grows, and the one before it has just ended."""
        last = next(reversed(optimizer.state), None)
        now = len(optimizer.state), len(optimizer.state[last]) if last is not None else 0
        if now != self.seen:
            self.seen = now
            for parameter in islice(reversed(optimizer.state), 2):
                for key, value in optimizer.state[parameter].items():
                    for tensor in tensors(value):
                        self._claim(parameter, str(key), tensor)

    def gradient(self, parameter: torch.Tensor) -> None:
        """Post-accumulate-grad hook: what is in .grad is a gradient."""
        if parameter.grad is not None:
            self.ledger.claim(parameter.grad, "gradient", "grad", self.ledger.place.owner(parameter))

    def _claim(self, parameter: torch.Tensor, key: str, tensor: torch.Tensor) -> None:
        self.ledger.claim(tensor, "optimizer", key, self.ledger.place.owner(parameter))


@contextmanager
def following(model: nn.Module, optimizers: list[Optimizer], ledger: Ledger, dispatch: Dispatch) -> Iterator[None]:
    """Hooks on every trained parameter and on every optimizer, removed again."""
    with ExitStack() as stack:
        follower = Follower(model, ledger, dispatch)
        for parameter in model.parameters():
            if parameter.requires_grad:
                stack.callback(parameter.register_post_accumulate_grad_hook(follower.gradient).remove)
        for one in optimizers:
            stack.callback(one.register_step_pre_hook(follower.begin).remove)
            stack.callback(one.register_step_post_hook(follower.end).remove)
            stack.enter_context(_zeroing(one, ledger))
        yield


@contextmanager
def _zeroing(optimizer: Optimizer, ledger: Ledger) -> Iterator[None]:
    """There is no hook for zero_grad, so the method is wrapped on this one optimizer."""
    plain = optimizer.zero_grad

    def zero_grad(*args: object, **kwargs: object) -> None:
        with ledger.place.phase("zero_grad"):
            plain(*args, **kwargs)

    with ZEROING.during(optimizer, "zero_grad", zero_grad):
        yield
