"""What travels together: when it is gathered and freed, and how its gradients go to their owners. Chapter: too-big."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from helpers.measure.step.precision import Policy
from helpers.measure.tracker.dispatch import tensors

from .hooks import watched
from .piece import Piece

Seen = Callable[[object, str], object]


class Wire:
    """What all units share.

    gathered: the buffer that waits to be freed; reduced: inputs of the last unit's reductions; order: who ran forward, in turn.
    """

    def __init__(self) -> None:
        self.gathered: Tensor | None = None
        self.reduced: list[Tensor] = []
        self.order: list[Unit] = []
        self.units: list[Unit] = []


class Unit:
    """The modules whose parameters travel together. reshard: they are freed after forward and gathered again for backward.

    teams: how many replicas there are, each shared out among nranks; a share of a gradient is reduced among them, too. reduces, frees: does
    a backward end with a reduction, and with the whole parameters gone (torch's set_requires_gradient_sync and set_reshard_after_backward)?
    state: where the parameters are in a step, phase: the modules.
    groups: itself and, of the same modules, what fewer ranks have (experts), reduced first; clears: is it the last of them, before whose
    reduction earlier inputs go? after, before: who is asked for once it is here, in forward and in backward; without them forward asks for
    nobody, backward for the one that ran before.
    """

    def __init__(self, modules: list[nn.Module], pieces: list[Piece], nranks: int, wire: Wire, policy: Policy):
        self.modules, self.pieces, self.nranks, self.wire, self.policy = modules, pieces, nranks, wire, policy
        self.numel = sum(piece.numel for piece in pieces)
        self.reshard = self.root = False
        self.teams, self.crossed = 1, None
        self.reduces = self.frees = True
        self.groups: list[Unit] = [self]
        self.clears = True
        self.after: Unit | None = None
        self.before: Unit | None = None
        self.state, self.phase = "idle", "idle"
        self.here, self.asked = False, None
        self.left: set[nn.Module] = set()
        self.turns: list[int] = []
        self.seen: Seen = lambda what, cls: None
        for module in modules:
            module.register_forward_pre_hook(self._enter, prepend=True, with_kwargs=True)
            module.register_forward_hook(self._leave)

    def ask(self) -> None:
        """Begin to gather: this rank's shards in the policy's type, where that is another one, then everybody's."""
        if self.here or self.asked is not None or not self.pieces:
            return
        if self.nranks == 1:  # nobody to gather from
            self.asked = torch.empty(0, device="meta")
            return
        gathers, wide = self.pieces[0].gathered.dtype, self.pieces[0].kept.dtype
        mine = torch.empty(self.numel, dtype=gathers, device="meta") if gathers != wide else None
        self.asked = torch.empty(self.numel * self.nranks, dtype=gathers, device="meta")
        self.seen([mine, self.asked], "communication")

    def gather(self, forward: bool) -> None:
        """The whole parameters are here when this returns."""
        self.ask()
        if self.asked is None:
            return
        _before = self.wire.gathered  # torch's variable holds it until all is copied out
        if forward:
            self.wire.gathered = None
        for piece in self.pieces:
            _mine = piece.cast() if self.nranks == 1 else None  # torch's variable holds it until the next one is there
            piece.make()
        if forward and self.nranks > 1:
            self.wire.gathered = self.asked
        self.here, self.asked = True, None

    def free(self) -> None:
        """The whole parameters go."""
        for piece in self.pieces if self.here else ():
            piece.free()
        self.here = False

    def _enter(self, _module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict] | None:
        self.left = self.left or set(self.modules)
        if self.phase == "backward":  # a recomputation
            for one in self.groups:
                one.gather(forward=False)
            return None
        first, self.state, self.phase = self.state != "forward", "forward", "forward"
        for one in self.groups:
            one.gather(forward=True)
            if first and one.pieces and torch.is_grad_enabled():
                args, kwargs = watched(one.after_backward, args, kwargs)
        for one in self.after.groups if first and self.after else ():
            one.ask()
        return args, kwargs

    def _leave(self, module: nn.Module, _inputs: object, output: object) -> None:
        if module not in self.left:
            return
        self.left.discard(module)
        if not self.left and self.phase != "backward":
            self.end_forward(output)

    def end_forward(self, output: object) -> None:
        """All modules ran that will. The root's end is that of every unit of which some did not."""
        for one in self.groups:
            if one.reshard:
                one.free()
            if one.pieces:
                one.turns.append(len(self.wire.order))
                self.wire.order.append(one)
        for tensor in tensors(output):
            if tensor.requires_grad:
                tensor.register_hook(self._before_backward)
        self.state = self.phase = "idle"
        if self.root:
            for unit in reversed([unit for unit in self.wire.units if unit.left]):
                unit.end_forward(output)
                unit.left.clear()
            self.wire.gathered = None

    def _before_backward(self, _grad: Tensor) -> None:
        self.phase = "backward"
        if self.state == "backward":
            return
        self.state = "backward"
        for one in self.groups:
            one.gather(forward=False)
        if self.before:
            for one in reversed(self.before.groups):
                one.ask()
        elif turn := self.turns.pop() if self.turns else 0:
            self.wire.order[turn - 1].ask()

    @torch.no_grad()
    def after_backward(self) -> None:
        """Gradients to their owners; the whole parameters go first. Or both stay, and gradients are added up."""
        self.state = "reduced"
        for piece in self.pieces:
            piece.add_up()
        if not self.reduces:
            self._keep()
            return
        there = [piece for piece in self.pieces if piece.grad is not None]
        grads = [piece.take() for piece in there]
        if self.frees:
            self.free()
        if self.clears:
            self.wire.reduced.clear()
        if grads:
            self.crossed = None
            self._reduce(there, grads)

    def _keep(self) -> None:
        if self.frees:
            self.free()
        for piece in self.pieces:
            piece.widen(self.policy.reduce)
        self.seen([piece.added for piece in self.pieces], "gradient")

    def _reduce(self, pieces: list[Piece], grads: list[Tensor]) -> None:
        numel, dtype = sum(piece.numel for piece in pieces), self.policy.reduce or grads[0].dtype
        whole = torch.empty(numel * self.nranks, dtype=dtype, device="meta")
        self.seen(whole, "communication")
        _last = grads[-1] if self.nranks > 1 else None  # torch's loop variable holds it until its function returns
        grads.clear()
        part = torch.empty(numel, dtype=dtype, device="meta")
        if self.nranks == 1:
            part.copy_(whole / 1.0)  # torchtitan's gradient_divide_factor
        self.crossed = part if self.teams > 1 else None
        part = part.to(pieces[0].kept.dtype)
        self.seen(part, "gradient")
        start = 0
        for piece in pieces:
            mine = piece.of(part, start)
            start += piece.numel
            if piece.shard.grad is None:
                piece.shard.grad = mine
            else:
                piece.shard.grad += mine
        self.wire.reduced.append(whole)
