"""A training step under ZeRO: hooks that gather before use and reduce after it. Chapter: too-big.

Rajbhandari et al. 2020 (arXiv 1910.02054). Stage 1 shares out the optimizer's state, 2 the gradients too, 3 the parameters too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import torch
from torch import nn

from .adam import Adam
from .group import Group, Paper
from .unit import Seen, Unit


class Zero:
    """A model whose states are shared out among ranks, and its optimizer. Train as usual: loss.backward(), step(), zero_grad().

    stage: 1, 2 or 3. units: the modules whose parameters travel together (default: what the model's ModuleLists and
    Sequentials hold); parameters outside them are one more unit, here from the forward's start to its own reduction. A unit may lie
    inside another that stands before it. group: Group() inside a rank (the default), Paper(n) on the meta device, Alone(); groups: for
    units that not all ranks have, as experts. prefetch: ask for the next unit while this one computes. optimizer: makes one over flat
    parameters (default: Adam, written out here); with main_grads, the type that stage 1 adds gradients up in, one that reads
    `main_grads` by parameter.
    ValueError for a stage or a model that cannot be shared out.
    """

    def __init__(
        self,
        model: nn.Module,
        stage: int,
        units: Iterable[nn.Module] | None = None,
        group=None,
        lr: float = 1e-3,
        prefetch: bool = False,
        optimizer: Callable[[list[nn.Parameter]], torch.optim.Optimizer] | None = None,
        main_grads: torch.dtype | None = None,
        groups: Mapping[nn.Module, Group | Paper] | None = None,
    ):
        if stage not in (1, 2, 3):
            raise ValueError(f"ZeRO has stages 1, 2 and 3, got {stage!r}")
        if main_grads and stage > 1:
            raise ValueError(
                f"gradients are added up in a type of their own in stage 1 only, got stage {stage} and {main_grads}"
            )
        frozen = [name for name, p in model.named_parameters() if not p.requires_grad]
        if frozen or not any(True for _ in model.parameters()):
            raise ValueError(
                f"every parameter is trained here; frozen: {', '.join(frozen) or 'the model has none at all'}"
            )
        self.model, self.stage, self.prefetch = model, stage, prefetch
        modules = list(blocks(model) if units is None else units)
        group = group or Group()
        apart = {id(module): one for module, one in (groups or {}).items()}
        self.units = [
            Unit(name, params, stage, apart.get(id(module), group), main_grads, group.nranks)
            for module, name, params in self._split(modules)
        ]
        self.main_grads = main_grads
        self.adams = [Adam(unit.share, lr) for unit in self.units] if optimizer is None else []
        self.shares = [] if optimizer is None else [nn.Parameter(unit.share) for unit in self.units]
        self.optimizer = optimizer(self.shares) if optimizer else None
        self._watch(modules)

    def tell(self, seen: Seen) -> None:
        """Tell who watches the memory what each buffer is for: seen(tensor, class), for example the `register` of a tracker."""
        for unit in self.units:
            unit.tell(seen)
        for tensor in (tensor for adam in self.adams for tensor in adam.state):
            seen(tensor, "optimizer")

    def _split(self, modules: list[nn.Module]) -> list[tuple[nn.Module, str, list[nn.Parameter]]]:
        """(module, its name, parameters) of every unit, each parameter once and in the innermost; the rest of the model last."""
        names, taken, found = {m: name for name, m in self.model.named_modules()}, set(), []
        inside = {module: set(module.modules()) - {module} for module in modules}
        for module in [*modules, self.model]:
            inner = {p for one in modules if one in inside.get(module, ()) for p in one.parameters()}
            params = [p for p in module.parameters() if p not in taken | inner]
            taken.update(params)
            found.append((module, names[module], params))
        return [one for one in found if one[2]]

    def _watch(self, modules: list[nn.Module]) -> None:
        units, names = {unit.name: unit for unit in self.units}, {m: name for name, m in self.model.named_modules()}
        here = {module: units[names[module]] for module in modules if names[module] in units}
        place = {module: i for i, module in enumerate(names)}
        ends = {module: (max(place[one] for one in module.modules()), -place[module]) for module in here}
        # Backward goes through what was left, last first
        entered, left = list(here), sorted(here, key=ends.__getitem__)
        for module, unit in here.items():
            at, end = entered.index(module), left.index(module)
            after, before = entered[at + 1 : at + 2], left[max(0, end - 1) : end]
            self._hook(module, unit, [here[one] for one in after], [here[one] for one in before])
        if rest := units.get(""):
            self.model.register_forward_pre_hook(lambda *_: rest.gather())
        for unit in self.units:
            for p in unit.params:
                p.register_post_accumulate_grad_hook(lambda p, unit=unit: self._arrived(unit, p))

    def _hook(self, module: nn.Module, unit: Unit, after: list[Unit], before: list[Unit]) -> None:
        """Gather before forward and before backward, free after forward; `after` and `before` come next in each direction."""

        def enter(*_: object) -> None:
            unit.gather()
            for one in after if self.prefetch and not unit.backward else ():
                one.ask()

        def turn(_: torch.Tensor) -> None:
            unit.gather()
            unit.backward = True
            for one in before if self.prefetch else ():
                one.ask()

        def leave(_module: nn.Module, _inputs: object, output: object) -> None:
            for tensor in output if isinstance(output, tuple) else (output,):
                if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
                    tensor.register_hook(turn)
            if not unit.backward:  # a checkpoint's second forward leaves it where the backward needs it
                unit.free()

        module.register_forward_pre_hook(enter)
        module.register_forward_hook(leave)

    def set_requires_gradient_sync(self, module: nn.Module, sync: bool, *, recurse: bool = True) -> None:
        """False: gradients of the module's parameters are parts, which add up here until one comes after True.

        recurse: those of modules inside it, too.
        """
        for p in module.parameters(recurse):
            for unit in self.units:
                (unit.parts.discard if sync else unit.parts.add)(p)

    def _arrived(self, unit: Unit, parameter: nn.Parameter) -> None:
        if unit.arrived(parameter) and unit.stage > 1:
            unit.reduce()

    def reduce(self) -> None:
        """Every gradient is at its owner when this returns: stages 2 and 3 did that in backward. RuntimeError naming a unit without."""
        late = [unit.name or "the rest" for unit in self.units if not unit.ready]
        if late:
            raise RuntimeError(f"backward has not reached every parameter of {', '.join(late)}")
        for unit in self.units:
            if unit.stage == 1:
                unit.reduce()

    def step(self) -> None:
        """Reduce what is left to reduce, and update every share."""
        self.reduce()
        if self.optimizer is not None:
            self._step()
        for unit, adam in zip(self.units, self.adams or [None] * len(self.units), strict=True):
            unit.update(adam)

    def _step(self) -> None:
        """The given optimizer sees one flat parameter for each unit."""
        if self.main_grads:
            self.optimizer.main_grads = {s: unit.grad for s, unit in zip(self.shares, self.units, strict=True)}
        for share, unit in zip(self.shares, self.units, strict=True) if not self.main_grads else ():
            share.grad = unit.grad
        self.optimizer.step()
        for share in self.shares:
            share.grad = None

    def zero_grad(self) -> None:
        """Forget the gradients; their buffers stay."""
        for unit in self.units:
            unit.grads.zero_()

    def held(self) -> dict[str, list[torch.Tensor]]:
        """What this rank keeps between steps, by class of helpers.memory.trace."""
        return {
            "parameter": [unit.share if unit.stage == 3 else unit.whole for unit in self.units],
            "gradient": [unit.grads for unit in self.units],
            "optimizer": [tensor for adam in self.adams for tensor in adam.state],
        }

    def nbytes(self) -> dict[str, int]:
        """Bytes of what is held, by class."""
        return {cls: sum(t.numel() * t.element_size() for t in tensors) for cls, tensors in self.held().items()}


def blocks(model: nn.Module) -> list[nn.Module]:
    """The outermost members of ModuleLists and Sequentials that have parameters: a transformer's layers, an MLP's linear maps."""
    found: list[nn.Module] = []
    for module in model.modules():
        if isinstance(module, nn.Sequential | nn.ModuleList):
            inside = {m for one in found for m in one.modules()}
            found += [m for m in module if m not in inside and any(True for _ in m.parameters())]
    return found
