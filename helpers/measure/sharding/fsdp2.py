"""torch's FSDP2 on paper: every buffer that fully_shard makes and frees, in its order; nothing is sent. Chapters: sharded, too-big.

Written from torch 2.13, torch/distributed/fsdp/_fully_shard, and held against it on real ranks (tests). What decides the memory:

- Each parameter is cut along its first dimension on its own, filled up to equally many rows for every rank. Shards, their gradients and
  the optimizer's numbers are fp32; what computes is gathered in the policy's type.
- In forward a unit's gathered buffer lives until the next unit copies its own out; in backward it goes at once, and the unit that comes
  next is asked for meanwhile.
- The input of a reduction lives until the next unit's reduction, the last gradient copied into it until the reduction is issued.
- A unit whose inputs want no gradient (the embedding, the root) is reduced when backward is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from helpers.measure.step.precision import Policy
from helpers.measure.tracker.dispatch import tensors
from helpers.memory.sharding import ShardingError
from helpers.parallel.zero.training import blocks

Seen = Callable[[object, str], object]


class Piece:
    """One parameter on one rank. shard: its rows, what the optimizer works on. numel: of a shard with its filling."""

    def __init__(self, whole: nn.Parameter, nranks: int, rank: int, wide: torch.dtype):
        if not whole.dim():
            raise ShardingError("FSDP2 cuts along the first dimension, and a parameter here is a single number")
        rows, row = -(-whole.shape[0] // nranks), whole.shape[1:].numel()
        mine = min(max(whole.shape[0] - rank * rows, 0), rows)
        self.whole, self.numel = whole, rows * row
        self.kept = torch.empty(self.numel, dtype=wide, device="meta")
        self.shape = (mine, *whole.shape[1:])
        self.shard = nn.Parameter(self.of(self.kept, 0), whole.requires_grad)
        self.gathered = torch.empty(self.numel * nranks, dtype=whole.dtype, device="meta")
        whole.data = self.gathered[: whole.numel()].view(whole.shape)
        self.free()

    def of(self, flat: Tensor, start: int) -> Tensor:
        """This rank's rows of the parameter, where they stand in a flat tensor."""
        return flat[start : start + torch.Size(self.shape).numel()].view(self.shape)

    def make(self) -> None:
        """Room for the whole parameter."""
        self.gathered.untyped_storage().resize_(self.gathered.numel() * self.gathered.element_size())

    def free(self) -> None:
        """The whole parameter goes; its shape stays."""
        self.gathered.untyped_storage().resize_(0)


class Wire:
    """What all units share: the gathered buffer that waits to be freed, the last reduction's input, and who ran forward in which order."""

    def __init__(self) -> None:
        self.gathered: Tensor | None = None
        self.reduced: Tensor | None = None
        self.order: list[Unit] = []


class Unit:
    """The modules whose parameters travel together. reshard: they are freed after forward and gathered again for backward."""

    def __init__(self, modules: list[nn.Module], pieces: list[Piece], nranks: int, wire: Wire, policy: Policy):
        self.modules, self.pieces, self.nranks, self.wire, self.policy = modules, pieces, nranks, wire, policy
        self.numel = sum(piece.numel for piece in pieces)
        self.reshard = self.root = False
        self.state, self.here, self.asked = "idle", False, None
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
        gathers, wide = self.pieces[0].gathered.dtype, self.pieces[0].kept.dtype
        mine = torch.empty(self.numel, dtype=gathers, device="meta") if gathers != wide else None
        self.asked = torch.empty(self.numel * self.nranks, dtype=gathers, device="meta")
        self.seen([mine, self.asked], "communication")

    def gather(self, forward: bool) -> None:
        """The whole parameters are here when this returns."""
        self.ask()
        if self.asked is None:
            return
        if forward:
            self.wire.gathered = None
        for piece in self.pieces:
            piece.make()
        self.wire.gathered = self.asked if forward else self.wire.gathered
        self.here, self.asked = True, None

    def free(self) -> None:
        """The whole parameters go."""
        for piece in self.pieces if self.here else ():
            piece.free()
        self.here = False

    def _enter(self, _module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict] | None:
        if self.state == "backward":  # a recomputation
            return None
        self.left = self.left or set(self.modules)
        first, self.state = self.state != "forward", "forward"
        self.gather(forward=True)
        return _watched(self, args, kwargs) if first and self.pieces and torch.is_grad_enabled() else None

    def _leave(self, module: nn.Module, _inputs: object, output: object) -> None:
        if self.state == "backward":
            return
        self.left.discard(module)
        if self.left:
            return
        if self.reshard:
            self.free()
        if self.pieces:
            self.turns.append(len(self.wire.order))
            self.wire.order.append(self)
        for tensor in tensors(output):
            if tensor.requires_grad:
                tensor.register_hook(self._before_backward)
        self.state = "idle"
        if self.root:
            self.wire.gathered = None

    def _before_backward(self, _grad: Tensor) -> None:
        if self.state == "backward":
            return
        self.state = "backward"
        self.gather(forward=False)
        turn = self.turns.pop() if self.turns else 0
        if turn:
            self.wire.order[turn - 1].ask()

    @torch.no_grad()
    def after_backward(self) -> None:
        """Gradients to their owners; the whole parameters go first."""
        self.state = "reduced"
        there = [piece for piece in self.pieces if piece.whole.grad is not None]
        grads = [piece.whole.grad for piece in there]
        for piece in there:
            piece.whole.grad = None
        self.free()
        self.wire.reduced = None
        if grads:
            self._reduce(there, grads)

    def _reduce(self, pieces: list[Piece], grads: list[Tensor]) -> None:
        numel, dtype = sum(piece.numel for piece in pieces), self.policy.reduce or grads[0].dtype
        whole = torch.empty(numel * self.nranks, dtype=dtype, device="meta")
        self.seen(whole, "communication")
        _last = grads[-1]  # torch's loop variable holds it until its function returns
        grads.clear()
        part = torch.empty(numel, dtype=dtype, device="meta")
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
        self.wire.reduced = whole


class FullyShard:
    """A model under fully_shard: its units, and the shards that an optimizer works on.

    model: on meta, its parameters in the type that computes. reshard: as torch's reshard_after_forward of all units but the root and the
    last, which torchtitan keeps. rank 0 has the most rows where they do not go up. ShardingError for a parameter that has no dimension.
    """

    def __init__(self, model: nn.Module, nranks: int, policy: Policy, reshard: bool, rank: int = 0):
        self.wire, self.units = Wire(), []
        taken: set[nn.Parameter] = set()
        for modules, again in (*units(model), ([model], False)):
            mine = [p for p in dict.fromkeys(_parameters(modules)) if p not in taken]
            taken.update(mine)
            made = [Piece(p, nranks, rank, torch.float32) for p in mine]
            self.units.append(Unit(modules, made, nranks, self.wire, policy))
            self.units[-1].reshard = again and reshard
        self.units[-1].root = True
        place = {module: i for i, module in enumerate(model.modules())}
        self.units.sort(key=lambda unit: place[unit.modules[0]])

    @property
    def pieces(self) -> list[Piece]:
        """Of all units."""
        return [piece for unit in self.units for piece in unit.pieces]

    @property
    def shards(self) -> list[nn.Parameter]:
        """What the optimizer works on."""
        return [piece.shard for piece in self.pieces]

    def tell(self, seen: Seen) -> None:
        """Tell who watches what each buffer is for, those of now and those to come."""
        for piece in self.pieces:
            seen(piece.kept, "parameter")
            seen(piece.gathered, "communication")
        for unit in self.units:
            unit.seen = seen

    def finish(self) -> None:
        """Backward is over: what nobody reduced is, in the order of the modules."""
        for unit in self.units:
            if unit.state != "reduced":
                unit.after_backward()
            unit.state = "idle"
            unit.asked = None
            unit.turns.clear()
        self.wire.order.clear()
        self.wire.reduced = None


def units(model: nn.Module) -> Iterable[tuple[list[nn.Module], bool]]:
    """(modules, may they reshard after forward) of every unit but the root.

    Of a transformer from here as torchtitan has it (distributed/fsdp.py at b5bcd76): the embedding, each block, and norm and head
    together, which backward wants at once; with tied weights the embedding is among those. Of any other module its blocks.
    """
    if not all(hasattr(model, name) for name in ("embedding", "layers", "norm", "head")):
        return [([block], True) for block in blocks(model)]
    ends = [module for module in (model.norm, model.head) if module is not None]
    first = [module for module in (model.embedding,) if module is not None]
    tied = first and ends and model.head.weight is model.embedding.weight
    found = [(first + ends, False)] if tied else [(first, True), (ends, False)]
    return [unit for unit in (*found, *(([layer], True) for layer in model.layers)) if unit[0]]


def _parameters(modules: Iterable[nn.Module]) -> Iterable[nn.Parameter]:
    """In fully_shard's order: a module's children first, then its own."""
    for module in modules:
        yield from _parameters(module.children())
        yield from module.parameters(recurse=False)


class _AfterBackward(torch.autograd.Function):
    """Its backward runs when the gradients of a unit's inputs are there: then those of its parameters are, too."""

    @staticmethod
    def forward(ctx, unit: Unit, *inputs: Tensor):
        ctx.unit = unit
        return inputs

    @staticmethod
    def backward(ctx, *grads: Tensor):
        ctx.unit.after_backward()
        return None, *grads


def _watched(unit: Unit, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """The same arguments; those that want a gradient go through _AfterBackward."""
    wanted = [tensor for tensor in tensors((args, kwargs)) if tensor.requires_grad]
    if not wanted:
        return args, kwargs
    instead = dict(zip(map(id, wanted), _AfterBackward.apply(unit, *wanted), strict=True))
    return _replaced(args, instead), _replaced(kwargs, instead)


def _replaced(value: object, instead: dict[int, Tensor]) -> object:
    if isinstance(value, dict):
        return {key: _replaced(one, instead) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(_replaced(one, instead) for one in value)
    return instead.get(id(value), value)
