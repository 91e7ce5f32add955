"""What autograd keeps for backward: the definition of an activation, taken from the moment it is packed to the moment it is dropped.

Chapters: training-memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch.autograd.graph import saved_tensors_hooks

from .ledger import KEPT_FOR_BACKWARD, UNCLAIMED, Held, Ledger, storages
from .place import NO_BACKWARD, graph_task


class Kept:
    """A packed tensor. When autograd drops it and the storage lives on, the storage is an activation no longer."""

    __slots__ = ("held", "ledger", "tensor")

    def __init__(self, tensor: torch.Tensor, held: list[Held], ledger: Ledger) -> None:
        self.tensor, self.held, self.ledger = tensor, held, ledger
        for one in held:
            one.saves += 1

    def __del__(self) -> None:
        self.tensor = None  # often the last reference: the storage is freed here, as an activation
        for one in self.held:
            one.saves -= 1
            if not one.saves and self.ledger.open and one() is not None and one.cls == KEPT_FOR_BACKWARD:
                self.ledger.relabel(one, "temporary")


class Saving:
    """The pair of hooks that autograd calls for every tensor it saves."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def pack(self, tensor: torch.Tensor) -> torch.Tensor | Kept:
        """Parameters, inputs and the like stay what they are; everything else is an activation from now on."""
        held = self._keep(tensor)
        return Kept(tensor, held, self.ledger) if held else tensor

    @staticmethod
    def unpack(packed: torch.Tensor | Kept) -> torch.Tensor:
        """What was packed; also after the tracker has gone, for a graph may outlive it."""
        return packed.tensor if type(packed) is Kept else packed

    def _keep(self, tensor: torch.Tensor) -> list[Held]:
        found = (self.ledger.find(storage) for storage in storages(tensor))
        kept = [one for one in found if one is not None and (one.cls in UNCLAIMED or one.cls == KEPT_FOR_BACKWARD)]
        for one in kept:
            self.ledger.relabel(one, KEPT_FOR_BACKWARD)
        return kept

    def watched(self, pack: Callable[[torch.Tensor], object]) -> Callable[[torch.Tensor], object]:
        """Somebody else's pack hook, seen: what it hands back is kept, and so is what a recomputation packs during backward."""

        def packing(tensor: torch.Tensor) -> object:
            packed = pack(tensor)
            if self.ledger.open:
                inside = packed if isinstance(packed, tuple | list) else (packed,)
                kept = [tensor] if graph_task() != NO_BACKWARD else inside
                for one in kept:
                    if isinstance(one, torch.Tensor):
                        self._keep(one)
            return packed

        return packing


@contextmanager
def saving(ledger: Ledger) -> Iterator[None]:
    """Autograd tells the ledger what it saves. Hooks entered inside (activation checkpointing, offload) hide ours, so they are watched."""
    ours, plain = Saving(ledger), saved_tensors_hooks.__enter__

    def enter(hooks: saved_tensors_hooks) -> None:
        torch._C._autograd._push_saved_tensors_default_hooks(ours.watched(hooks.pack_hook), hooks.unpack_hook)

    with saved_tensors_hooks(ours.pack, ours.unpack):
        saved_tensors_hooks.__enter__ = enter
        try:
            yield
        finally:
            saved_tensors_hooks.__enter__ = plain
