"""Collectives that no Python function of torch.distributed issues: those of DistributedDataParallel's reducer, of functional
collectives and DTensor, and of code that holds the process group itself. Chapter: hangs.

All of them pass the operators c10d::*, so a kernel in Python stands in front of torch's own there. It costs some 10 us a collective,
and is put there when the first DistributedDataParallel, device mesh or functional collective is made, not before. Who waits for
such a collective waits in C++: its note says INSIDE from its call on, until its handle is seen to be complete.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
import warnings
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

from .places import caller

if TYPE_CHECKING:
    from .hooks import Noter

# Operator: torch's name of the collective, and which arguments are the tensors to compare, the group, and the root.
OPERATORS = {
    "allreduce_": ("all_reduce", 0, 1, None),
    "allreduce_coalesced_": ("all_reduce_coalesced", 0, 1, None),
    "broadcast_": ("broadcast", 0, 1, 2),
    "reduce_": ("reduce", 0, 1, 3),
    "allgather_": ("all_gather", 1, 2, None),
    "_allgather_base_": ("all_gather_single", 1, 2, None),
    "allgather_into_tensor_coalesced_": ("all_gather_into_tensor_coalesced", 1, 2, None),
    "reduce_scatter_": ("reduce_scatter", 0, 2, None),
    "_reduce_scatter_base_": ("reduce_scatter_single", 0, 2, None),
    "reduce_scatter_tensor_coalesced_": ("reduce_scatter_tensor_coalesced", 0, 2, None),
    "alltoall_base_": ("all_to_all_single", None, 2, None),
    "barrier": ("barrier", None, 1, None),
}
FUNCTIONAL = (
    "all_reduce",
    "all_reduce_",
    "all_reduce_coalesced",
    "all_gather_into_tensor",
    "all_gather_into_tensor_coalesced",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_coalesced",
    "all_to_all_single",
    "broadcast",
)
_ISSUERS = {
    "autograd/graph.py": " (DistributedDataParallel)",
    "distributed/utils.py": " (DistributedDataParallel)",
    "parallel/distributed.py": " (DistributedDataParallel)",
    "torch/_ops.py": " (functional)",
}
POLL = 0.02  # seconds between looks at what C++ waits for


class Below:
    """Notes what reaches c10d's operators on this device type without a note of its own. One per process."""

    def __init__(self, noter: Noter, device_type: str):
        self._noter, self._key = noter, device_type.upper()
        self._libraries: list[torch.library.Library] = []  # alive as long as their kernels are wanted
        self._open: list[tuple[int, dist.Work]] = []
        self._lock = threading.Lock()
        self._installed = False

    def await_need(self) -> None:
        """Stand ready: the first functional collective or DistributedDataParallel calls `install`."""
        library = self._library("_c10d_functional")
        for name in FUNCTIONAL:
            self._replace(library, "_c10d_functional", name, self._first_functional)
        ddp = torch.nn.parallel.DistributedDataParallel
        ddp.__init__ = self._installing(ddp.__init__)

    def install(self) -> None:
        """Put the kernels in place, once."""
        with self._lock:
            if self._installed:
                return
            self._installed = True
            library = self._library("c10d")
            for name, described in OPERATORS.items():
                self._replace(library, "c10d", name, functools.partial(self._noted, *described))
            threading.Thread(target=self._watch, name="op-notes-below", daemon=True).start()

    def forget(self) -> None:
        """The records are about to be reused."""
        with self._lock:
            self._open.clear()

    def _library(self, namespace: str) -> torch.library.Library:
        self._libraries.append(torch.library.Library(namespace, "IMPL"))
        return self._libraries[-1]

    def _replace(self, library: torch.library.Library, namespace: str, name: str, stand_in: Callable) -> None:
        """stand_in(kernel, keyset, args) calls `kernel.call_boxed(keyset, *args)`, torch's own."""
        try:
            kernel = torch.library.get_kernel(f"{namespace}::{name}", self._key)
        except RuntimeError:  # this torch has no such operator
            return
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"(?s).*Overriding a previously registered kernel")
            library.impl(
                name,
                lambda keyset, *args: stand_in(kernel, keyset, args),
                self._key,
                with_keyset=True,
                allow_override=True,
            )

    def _first_functional(self, kernel: object, keyset: object, args: tuple) -> object:
        self.install()
        return kernel.call_boxed(keyset, *args)

    def _installing(self, original: Callable) -> Callable:
        @functools.wraps(original)
        def call(*args, **kwargs):
            self.install()
            return original(*args, **kwargs)

        return call

    def _noted(
        self,
        op: str,
        tensors: int | None,
        group: int,
        root: int | None,
        kernel: object,
        keyset: object,
        args: tuple,
    ) -> object:
        from . import hooks  # it imports this

        if hooks.busy():
            return kernel.call_boxed(keyset, *args)
        agreed = "" if tensors is None else _tensors_text(args[tensors])
        if root is not None:
            agreed = f"{agreed} root {args[root]}"
        frame = sys._getframe(1)
        text = hooks.group_text(dist.ProcessGroup.unbox(args[group]))
        writer, completion = self._noter.writer, self._noter.completion
        record = writer.enter(op, agreed, issuer(frame), text, where=caller(frame))
        token = completion.begin(writer, record)
        try:
            result = kernel.call_boxed(keyset, *args)
        except BaseException:
            completion.failed(writer, record, token)
            raise
        self._issued(record, token, dist.Work.unbox(result[-1] if isinstance(result, tuple) else result))
        return result

    def _issued(self, record: int, token: object, work: dist.Work) -> None:
        completion, writer = self._noter.completion, self._noter.writer
        if completion.follows_handles:
            completion.launched(writer, record, token, [work])
        elif work.is_completed():
            completion.end(writer, record, token)
        else:
            with self._lock:
                self._open.append((record, work))

    def _watch(self) -> None:
        while True:
            time.sleep(POLL)
            if self._open:
                self._look()

    def _look(self) -> None:
        with self._lock:
            done = [item for item in self._open if item[1].is_completed()]
            for item in done:
                self._open.remove(item)
                self._noter.completion.end(self._noter.writer, item[0], None)


def _tensors_text(tensors: object) -> str:
    """ "float32[1024]", or the sum of a list's elements: "3 tensors of float32[96]" in all."""
    from . import hooks

    if isinstance(tensors, torch.Tensor):
        return hooks.tensor_text(tensors)
    if len(tensors) == 1:
        return hooks.tensor_text(tensors[0])
    kinds = sorted({str(t.dtype).removeprefix("torch.") for t in tensors})
    return f"{'+'.join(kinds)}[{sum(t.numel() for t in tensors)}] in {len(tensors)} tensors"


def issuer(frame: FrameType | None) -> str:
    """Who called the operator, as far as the nearest Python frame of torch tells: " (DistributedDataParallel)"."""
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    name = frame.f_code.co_filename if frame else ""
    return next((text for end, text in _ISSUERS.items() if name.endswith(end)), "")
