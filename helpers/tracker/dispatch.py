"""Every operator that torch runs, seen below autograd: the tensors that it makes are the allocations.

Chapters: training-memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.patches import RESIZES

from .ledger import Ledger, storages

Answer = Callable[[tuple, dict | None], object]  # of args and kwargs; None: torch shall
Answers = Callable[[torch._ops.OpOverload], Answer | None]
Known = tuple[int, str, Answer | None, torch._ops.OpOverload]
PLAIN, ALIAS, RESIZE, COMMUNICATE = range(4)
SENDS = {"c10d", "_c10d_functional", "_c10d_functional_autograd", "c10d_functional", "symm_mem"}
# torch.tensor(...) is seen here for the first time
FIRST_SEEN = {"aten::lift_fresh", "aten::lift", "aten::lift_fresh_copy"}


def kind_of(func: torch._ops.OpOverload) -> int:
    """How an operator makes storages: by its outputs, not at all (views, in place), by resizing, or for a collective."""
    schema = func._schema
    if func.namespace in SENDS:
        return COMMUNICATE
    if schema.name in FIRST_SEEN:
        return PLAIN
    writes_out = any(argument.is_out for argument in schema.arguments)
    if writes_out or "resize" in schema.name or schema.name.startswith("aten::set"):
        return RESIZE
    return ALIAS if all(one.alias_info is not None for one in schema.returns) else PLAIN


class Dispatch(TorchDispatchMode):
    """before: called ahead of every operator that makes a storage, or None. answers: as track's."""

    def __init__(self, ledger: Ledger, answers: Answers | None = None) -> None:
        super().__init__()
        self.ledger = ledger
        self.before: Callable[[], None] | None = None
        self.answers = answers
        self._known: dict[int, Known] = {}  # by id: an operator's own hash is slow Python

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False: the wrapper that torch adds otherwise imports its compiler at the first operator, whose frames then keep tensors."""
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Run the operator, then enter what it made. Subclasses such as DTensor run first and come back as plain tensors."""
        if types and any(hasattr(one, "__tensor_flatten__") for one in types):
            return NotImplemented
        kind, op, answer, _ = self._known.get(id(func)) or self._know(func)
        if kind != ALIAS:
            if self.before is not None:
                self.before()
            if kind != PLAIN:
                return self._unusual(kind, func, args, kwargs or {})
        out = None if answer is None else answer(args, kwargs)
        if out is None:
            out = func(*args, **kwargs) if kwargs else func(*args)
        if kind != ALIAS:
            self._enter(out, op)
        return out

    def _know(self, func: torch._ops.OpOverload) -> Known:
        """Its kind, its name, what answers in its place, and itself, so that its id stays its own."""
        answer = None if self.answers is None else self.answers(func)
        found = self._known[id(func)] = kind_of(func), func._schema.name, answer, func
        return found

    def _enter(self, out: object, op: str) -> None:
        if type(out) is torch.Tensor:
            storage = out.untyped_storage() if out.layout is torch.strided else None
            if storage is not None and id(storage) not in self.ledger.held:
                self.ledger.enter(storage, "temporary", op)
        elif isinstance(out, tuple | list):
            for one in out:
                self._enter(one, op)
        elif isinstance(out, torch.Tensor):
            for storage in storages(out):
                if self.ledger.find(storage) is None:
                    self.ledger.enter(storage, "temporary", op)

    def _unusual(self, kind: int, func: torch._ops.OpOverload, args: tuple, kwargs: dict) -> object:
        given = [one for tensor in tensors((args, kwargs)) for one in storages(tensor)]
        before = [one.nbytes() for one in given]
        out = func(*args, **kwargs)
        for storage, nbytes in zip(given, before, strict=True):
            self.ledger.resize(storage, nbytes, func._schema.name)
        self._enter(out, func._schema.name)
        if kind == COMMUNICATE:
            for storage in (*given, *(one for tensor in tensors(out) for one in storages(tensor))):
                held = self.ledger.find(storage)
                if held is not None and held.cls == "temporary":
                    self.ledger.relabel(held, "communication")
        return out


def tensors(value: object) -> Iterator[torch.Tensor]:
    """The tensors in nested tuples, lists and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from tensors(one)
    elif isinstance(value, dict):
        yield from tensors(tuple(value.values()))


@contextmanager
def resizing(ledger: Ledger) -> Iterator[None]:
    """Storages are also resized by a method that no dispatcher sees: FSDP frees and refills its parameters so."""
    plain = torch.UntypedStorage.resize_

    def resize_(storage: torch.UntypedStorage, size: int) -> torch.UntypedStorage:
        before = storage.nbytes()
        out = plain(storage, size)
        ledger.resize(storage, before, "resize_")
        return out

    with RESIZES.during(torch.UntypedStorage, "resize_", resize_):
        yield
