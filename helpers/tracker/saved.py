"""What autograd keeps for backward: the definition of an activation, taken from the moment it is packed to the moment it is dropped.

Chapters: training-memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import _VersionWrapper

from helpers.patches import SAVED

from .ledger import KEPT_FOR_BACKWARD, UNCLAIMED, Held, Ledger, storages
from .where import NO_BACKWARD, graph_task


class Kept:
    """A packed tensor. When autograd drops it and the storage lives on, the storage is an activation no longer."""

    __slots__ = ("held", "ledger", "tensor", "version")

    def __init__(self, tensor: torch.Tensor, held: list[Held], ledger: Ledger) -> None:
        # Detached: a node that kept its own output with its history would keep itself alive for ever.
        self.tensor = tensor.detach() if tensor.requires_grad else tensor
        self.version, self.held, self.ledger = tensor._version, held, ledger
        for one in held:
            one.saves += 1

    def __del__(self) -> None:
        self.tensor = None  # often the last reference: the storage is freed here, as an activation
        for one in self.held:
            one.saves -= 1
            if not one.saves and self.ledger.open and one() is not None and one.cls == KEPT_FOR_BACKWARD:
                self.ledger.relabel(one, "temporary")

    def unpacked(self) -> torch.Tensor:
        """The tensor. RuntimeError if it was written to since: autograd leaves that check to whoever packs."""
        if self.tensor._version != self.version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[{self.tensor.type()} {list(self.tensor.shape)}] is at version {self.tensor._version}; "
                f"expected version {self.version} instead."
            )
        return self.tensor


class Saving:
    """The pair of hooks that autograd calls for every tensor it saves."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def pack(self, tensor: torch.Tensor) -> Kept:
        """Parameters, inputs and the like stay what they are; everything else is an activation from now on."""
        return Kept(tensor, self.keep(tensor) if self.ledger.open else [], self.ledger)

    def keep(self, tensor: torch.Tensor) -> list[Held]:
        """The tensor's storages are activations, unless they are something else already; those that are."""
        kept = []
        for storage in storages(tensor):
            held = self.ledger.held.get(id(storage))
            if held is not None and (held.cls == KEPT_FOR_BACKWARD or held.cls in UNCLAIMED) and not held.by_hand:
                self.ledger.relabel(held, KEPT_FOR_BACKWARD)
                kept.append(held)
        return kept

    def watched(self, pack: Callable[[torch.Tensor], object]) -> Callable[[torch.Tensor], object]:
        """Somebody else's pack hook, seen: what it hands back is kept, and so is what a recomputation packs during backward."""

        def packing(tensor: torch.Tensor) -> object:
            recomputing = graph_task() != NO_BACKWARD
            if recomputing and self.ledger.open:
                self.keep(tensor)  # before, for the last one's hook ends the recomputation by an exception
            packed = pack(tensor)
            if not recomputing and self.ledger.open:
                for inside in packed if isinstance(packed, tuple | list) else (packed,):
                    if isinstance(inside, torch.Tensor):
                        self.keep(inside)
            return packed

        return packing


@contextmanager
def saving(ledger: Ledger) -> Iterator[None]:
    """Autograd tells the ledger what it saves.

    Hooks entered inside (activation checkpointing, offload) hide ours, so they are watched. Selective checkpointing keeps its results
    beside autograd, in wrappers of its own, so those are watched, too.
    """
    ours, wrap = Saving(ledger), _VersionWrapper.__init__

    def enter(hooks: saved_tensors_hooks) -> None:
        torch._C._autograd._push_saved_tensors_default_hooks(ours.watched(hooks.pack_hook), hooks.unpack_hook)

    def wrapping(wrapper: _VersionWrapper, value: object) -> None:
        wrap(wrapper, value)
        if isinstance(value, torch.Tensor) and ledger.open:
            ours.keep(value)

    with (
        saved_tensors_hooks(ours.pack, Kept.unpacked),
        SAVED.during(saved_tensors_hooks, "__enter__", enter),
        SAVED.during(_VersionWrapper, "__init__", wrapping),
    ):
        yield
