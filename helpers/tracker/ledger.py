"""The tracker's book: which storages are alive, as what, and every event since the start.

A storage is known by a weak reference, so the book keeps nothing alive; the reference's callback is the free.
Chapters: training-memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from time import perf_counter

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from helpers.memory import CLASSES, Event

from .where import Place

new = tuple.__new__  # Event(...) is a Python function and takes three times as long
KEPT_FOR_BACKWARD = "activation"
UNCLAIMED = ("temporary", "communication")  # classes that saving for backward overrides


class TrackError(RuntimeError):
    """The tracker was asked for something it cannot do: a second tracker inside the first, an unknown class."""


class Held(weakref.ref):
    """A storage that is known: the weak reference itself, and what the book says about it.

    key: id of the storage. block: the event's block, -1 while there are 0 bytes. saves: how often autograd has packed it.
    by_hand: somebody registered its class, and saving it for backward does not change it (ZeRO-3's gathered weights).
    """

    __slots__ = ("block", "by_hand", "cls", "key", "nbytes", "op", "saves")


def storages(tensor: torch.Tensor) -> list[torch.UntypedStorage]:
    """The storages that hold a tensor's values: one, or those of the tensors inside a subclass such as DTensor."""
    if type(tensor) is torch.Tensor or not is_traceable_wrapper_subclass(tensor):
        return [tensor.untyped_storage()] if tensor.layout is torch.strided else []
    inside = [getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]]
    # DTensor flattens into its mesh, too, which is no tensor.
    return [storage for one in inside if isinstance(one, torch.Tensor) for storage in storages(one)]


class Ledger:
    """What is alive and what has happened. devices: types that count; place says which module and phase it is now.

    `enter` and what it calls run once per operator, beside kernels that leave no cache warm: they are written out for speed.
    """

    def __init__(
        self, place: Place, devices: frozenset[str], timed: bool, on_event: Callable[[Event], None] | None
    ) -> None:
        self.place, self.devices, self.timed, self.on_event = place, devices, timed, on_event
        self.events: list[Event] = []
        self.held: dict[int, Held] = {}
        self.open = True
        self._blocks = 0
        self._start = perf_counter()

    def find(self, storage: torch.UntypedStorage) -> Held | None:
        """What the book says about a storage, or None."""
        return self.held.get(id(storage))

    def enter(
        self, storage: torch.UntypedStorage, cls: str, op: str, module: str | None = None, *, empty: bool = False
    ) -> None:
        """A storage that was not known. Nothing happens on other devices, or for 0 bytes unless `empty` ones are kept, too."""
        nbytes = storage.nbytes()
        if not (nbytes or empty) or storage.device.type not in self.devices:
            return
        key = id(storage)
        held = self.held[key] = Held(storage, self._freed)
        held.key, held.cls, held.op, held.saves, held.nbytes, held.by_hand, held.block = (
            key,
            cls,
            op,
            0,
            nbytes,
            False,
            -1,
        )
        if nbytes:
            held.block = self._blocks
            self._blocks += 1
            self._emit("alloc", held, module)

    def relabel(self, held: Held, cls: str, module: str | None = None) -> None:
        """The storage is now seen as `cls`. A class that it has already is no event."""
        if held.cls != cls:
            held.cls = cls
            if held.nbytes:
                self._emit("class", held, module)

    def claim(self, tensor: torch.Tensor, cls: str, op: str, module: str | None = None, by_hand: bool = False) -> None:
        """The tensor's storages are `cls`, known or not. by_hand: and stay so when autograd saves them."""
        for storage in storages(tensor):
            held = self.find(storage)
            if held is None:
                self.enter(storage, cls, op, module, empty=True)
                held = self.find(storage)
            else:
                self.relabel(held, cls, module)
            if held is not None:
                held.by_hand = held.by_hand or by_hand

    def resize(self, storage: torch.UntypedStorage, before: int, op: str) -> None:
        """The storage had `before` bytes. As an allocator sees it: the new block is made, then the old one is freed."""
        held, nbytes = self.find(storage), storage.nbytes()
        if held is None and before == 0:
            self.enter(storage, "temporary", op)
        if held is None or nbytes == before:
            return
        old = held.block
        if nbytes:
            held.block, held.nbytes = self._blocks, nbytes
            self._blocks += 1
            self._emit("alloc", held)
        if before:
            new, held.block, held.nbytes = held.block, old, before
            self._emit("free", held)
            held.block, held.nbytes = new, nbytes

    def mark(self, name: str) -> None:
        """A moment with a name."""
        module, phase = self.place.now()
        seconds = perf_counter() - self._start if self.timed else 0.0
        self._append(Event("mark", -1, 0, "temporary", module, phase, name, seconds))

    def close(self) -> None:
        """No event after this one; the weak references are dropped, and their callbacks with them."""
        self.open = False
        self.held.clear()

    def _freed(self, held: Held) -> None:
        if self.open:
            del self.held[held.key]
            if held.nbytes:
                self._emit("free", held)

    def _emit(self, kind: str, held: Held, module: str | None = None) -> None:
        here, phase = self.place.now()
        seconds = perf_counter() - self._start if self.timed else 0.0
        where = here if module is None else module
        self._append(new(Event, (kind, held.block, held.nbytes, held.cls, where, phase, held.op, seconds)))

    def _append(self, event: Event) -> None:
        self.events.append(event)
        if self.on_event is not None:
            self.on_event(event)


def known_class(cls: str) -> str:
    """`cls`. TrackError if there is no such class."""
    if cls not in CLASSES:
        raise TrackError(f"a class is one of {', '.join(CLASSES)}, got {cls!r}")
    return cls
