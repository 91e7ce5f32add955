"""The parameters of one module in one flat buffer, padded so that every rank owns an equal share. Chapter: too-big."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from .adam import Adam
from .group import Group, Paper

Seen = Callable[[torch.Tensor, str], object]


class Unit:
    """What is gathered, reduced and freed together.

    params: all of one dtype and device; their data become views of `whole`. stage 1: whole parameters and whole gradients stay;
    2: whole parameters and this rank's share of the gradients; 3: shares only. wide: stage 1 adds gradients up in this type as they
    come, and drops them (Megatron-LM's main_grad). over: of how many ranks' losses the gradient of the mean is wanted, where that are
    more than the group has: an expert gets rows from all of them. One rank alone with its experts shares nothing: stage 1.
    """

    def __init__(
        self,
        name: str,
        params: list[torch.nn.Parameter],
        stage: int,
        group: Group | Paper,
        wide: torch.dtype | None = None,
        over: int = 0,
    ):
        self.name, self.params, self.group = name, params, group
        self.stage = 1 if group.nranks == 1 < over else stage
        self.part_of = group.nranks / (over or group.nranks)
        self.count = sum(p.numel() for p in params)
        self.numel = -(-self.count // group.nranks) * group.nranks  # padded
        self.whole = params[0].new_zeros(self.numel)
        self._move_in()
        mine = self._mine(self.whole)
        self.share = mine.clone() if self.stage == 3 else mine
        self.grads = torch.zeros_like(self.whole if self.stage == 1 else self.share, dtype=wide)
        self.main = dict(zip(params, self._pieces(self.grads), strict=True)) if wide else {}
        if self.stage == 1 and not wide:
            for p, piece in zip(params, self._pieces(self.grads), strict=True):
                p.grad = piece
        self.parts: set[torch.nn.Parameter] = set()  # parameters whose next gradient is not their last one
        self.seen: Seen = lambda tensor, cls: None
        self.handle, self.here = None, True
        self.backward, self.waiting, self.ready = False, len(params), False
        self.free()

    @torch.no_grad()
    def _move_in(self) -> None:
        for p, piece in zip(self.params, self._pieces(self.whole), strict=True):
            piece.copy_(p)
            p.data = piece
        self.group.broadcast(self.whole)

    def _pieces(self, flat: torch.Tensor) -> Iterator[torch.Tensor]:
        """A view for each parameter; what is left over is padding."""
        sizes = [p.numel() for p in self.params]
        for p, piece in zip(self.params, flat[: self.count].split(sizes), strict=True):
            yield piece.view(p.shape)

    def _mine(self, flat: torch.Tensor) -> torch.Tensor:
        each = self.numel // self.group.nranks
        return flat[self.group.rank * each :][:each]

    @property
    def grad(self) -> torch.Tensor:
        """This rank's share of the gradients."""
        return self._mine(self.grads) if self.stage == 1 else self.grads

    def tell(self, seen: Seen) -> None:
        """Tell who watches what every buffer is for, those of now and those to come."""
        self.seen = seen
        seen(self.whole, "communication" if self.stage == 3 else "parameter")
        seen(self.share, "parameter")
        seen(self.grads, "gradient")

    def ask(self) -> None:
        """Begin to gather the whole parameters, where they are not here or on their way."""
        if self.here or self.handle is not None:
            return
        self.whole.untyped_storage().resize_(self.numel * self.whole.element_size())
        self.handle = self.group.all_gather(self.whole, self.share)

    def gather(self) -> None:
        """The whole parameters are here when this returns."""
        self.ask()
        if self.handle is not None:
            self.handle.wait()
            self.handle, self.here = None, True

    def free(self) -> None:
        """Stage 3: drop what other ranks own. The views stay; their memory goes."""
        if self.stage == 3 and self.here:
            self.whole.untyped_storage().resize_(0)
            self.here = False

    def arrived(self, parameter: torch.nn.Parameter) -> bool:
        """One more parameter has its gradient; True when all have."""
        self.seen(parameter.grad, "gradient")
        if self.main:
            self.main[parameter].add_(parameter.grad)
            parameter.grad = None
        if parameter in self.parts:
            return False
        self.waiting -= 1
        if self.waiting == 0:
            self.waiting, self.ready = len(self.params), True
            return True
        return False

    @torch.no_grad()
    def reduce(self) -> None:
        """Every rank's gradients of this unit to their owners, averaged; the rest of them is freed (stages 2 and 3)."""
        self.backward = False
        if self.stage == 1:
            self.group.reduce_scatter(self.grad, self.grads)
            self._scale(self.grad)
            return
        whole = self.whole.new_zeros(self.numel) if self.numel > self.count else self.whole.new_empty(self.numel)
        self.seen(whole, "communication")
        for p, piece in zip(self.params, self._pieces(whole), strict=True):
            piece.copy_(p.grad)
            p.grad = None
        self.free()
        part = torch.empty_like(self.grads)
        self.seen(part, "communication")
        self.group.reduce_scatter(part, whole)
        self._scale(part)
        self.grads.add_(part)

    def _scale(self, mean: torch.Tensor) -> None:
        if self.part_of < 1:
            mean.mul_(self.part_of)

    def update(self, adam: Adam | None) -> None:
        """Let the optimizer change this rank's share (or it has), then tell the other ranks; stage 3 tells them at the next gather."""
        if adam is not None:
            adam.step(self.grad)
        self.ready = False
        if self.stage < 3:
            self.group.all_gather(self.whole, self.share).wait()
