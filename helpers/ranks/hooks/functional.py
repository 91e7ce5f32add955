"""Functional collectives, as DTensor uses them: a note when one is called, and who waits for its result. Chapter: hangs.

Not noted: those inside a graph that torch.compile made, and those that autograd runs backwards by itself.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable

import torch

from helpers.patches import FUNCTIONAL
from helpers.ranks.notes.descriptions import group_text, resolved, tensors_text
from helpers.ranks.notes.notes import Writer
from helpers.ranks.notes.reader_lines import caller

from .completion import Completion
from .guarding import warn_of_nan
from .outermost import busy, unnoted

# Names differ between torch 2.11 and 2.13; only the outermost is noted.
COLLECTIVES = (
    "all_reduce",
    "all_reduce_coalesced",
    "broadcast",
    "all_gather_single",
    "all_gather_single_autograd",
    "all_gather_tensor",
    "all_gather_tensor_autograd",
    "all_gather_single_coalesced",
    "all_gather_into_tensor_coalesced",
    "reduce_scatter_single",
    "reduce_scatter_single_autograd",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd",
    "reduce_scatter_single_coalesced",
    "reduce_scatter_tensor_coalesced",
    "all_to_all_single",
    "all_to_all_single_autograd",
)


class Functional:
    """Wraps the functions of torch.distributed._functional_collectives in this process."""

    def __init__(self, writer: Writer, completion: Completion):
        self._writer, self._completion = writer, completion
        self._results: dict[int, list] = {}  # address of a result's memory -> [record, results to wait for, token]
        self._launching: list | None = None  # the same, of a call that has not returned

    def install(self) -> None:
        """Once, in a rank."""
        import torch.distributed._functional_collectives as functional  # 50 ms, which a notebook need not pay

        for name in COLLECTIVES:
            if original := getattr(functional, name, None):
                FUNCTIONAL.put(functional, name, self._noted(name, original, functional._resolve_group_name))
        FUNCTIONAL.put(functional, "wait_tensor", self._noted_wait(functional.wait_tensor))

    def forget(self) -> None:
        """The records are about to be reused."""
        self._results.clear()

    def _noted(self, name: str, original: Callable, resolve: Callable) -> Callable:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def call(*args, **kwargs):
            if torch.compiler.is_compiling() or busy():
                return original(*args, **kwargs)
            given = signature.bind(*args, **kwargs).arguments
            group = resolved(resolve(given["group"], given.get("tag", "")))
            if str(given.get("reduceOp")).lower() in ("max", "min") and isinstance(
                tensor := given.get("self"), torch.Tensor
            ):
                warn_of_nan(name, [tensor], group)
            writer, completion = self._writer, self._completion
            op, agreed = name.removesuffix("_autograd"), _agreed(name, given)
            record = writer.enter(op, agreed, " (functional)", group_text(group), where=caller(sys._getframe(1)))
            token = completion.begin(writer, record)
            # The first call imports torch._dynamo: seconds, and nobody waits
            completion.launched(writer, record, token, [])
            self._launching = [record, 0, token]
            try:
                with unnoted():
                    result = original(*args, **kwargs)
            except BaseException:
                completion.failed(writer, record, token)
                raise
            finally:
                self._launching = None
            self._returned(record, token, result)
            return result

        return call

    def _returned(self, record: int, token: object, result: object) -> None:
        waited = [t.elem for t in (result if isinstance(result, list) else [result]) if hasattr(t, "elem")]
        if not waited:
            return self._completion.end(self._writer, record, token)
        entry = [record, len(waited), token]
        self._results.update((tensor.data_ptr(), entry) for tensor in waited)
        return None

    def _noted_wait(self, original: Callable) -> Callable:
        @functools.wraps(original)
        def wait_tensor(tensor):
            if torch.compiler.is_compiling():
                return original(tensor)
            if not (entry := self._results.pop(_address(tensor), self._launching)):
                return original(tensor)
            writer, completion = self._writer, self._completion
            completion.waiting(writer, entry[0], entry[2])
            try:
                result = original(tensor)
            except BaseException:
                completion.failed(writer, entry[0], entry[2])
                raise
            entry[1] -= 1
            if entry[1] <= 0:
                completion.end(writer, entry[0], entry[2])
            return result

        return wait_tensor


def _address(tensor: torch.Tensor) -> int:
    return getattr(tensor, "elem", tensor).data_ptr()


def _agreed(name: str, given: dict) -> str:
    """What must be the same on all ranks; an all_to_all's sizes may differ."""
    if name.startswith("all_to_all"):
        return ""
    root = f" root {given['src']}" if "src" in given else ""
    return tensors_text(next(iter(given.values()))) + root
