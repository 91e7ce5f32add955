"""Collectives that no Python function issues: those of DistributedDataParallel's reducer. Chapter: hangs.

They pass the operators c10d::*, so a function stands in front of these, at the dispatcher's key Autograd. It calls the operator
again below that key, which releases Python's lock: Gloo's threads may want it meanwhile (`call_boxed` of torch.library.get_kernel
keeps it, and deadlocks now and then). It costs some 30 us a collective, and is put there when the first DistributedDataParallel is
made, not before. The reducer waits in C++: these notes say INSIDE from the call on, until the handle is seen to be complete.

Whoever counts what is sent (`listening`) hears of every call at the same place, Python's own too, with the operator's arguments.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

import torch
import torch.distributed as dist

from helpers.patches import REDUCER
from helpers.ranks.notes.descriptions import group_text, tensors_text
from helpers.ranks.notes.notes import REGION, Writer
from helpers.ranks.notes.reader_lines import caller

from .completion import Completion
from .outermost import busy

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
# Python's functions alone issue these, and note them: somebody may listen, nothing is noted here.
HEARD = ("send", "recv_", "recv_any_source_", "gather_", "scatter_", "alltoall_", "allgather_coalesced_")
_ISSUERS = {
    "autograd/graph.py": " (DistributedDataParallel)",
    "distributed/utils.py": " (DistributedDataParallel)",
    "parallel/distributed.py": " (DistributedDataParallel)",
}
POLL = 0.02  # seconds between looks at what C++ waits for
Listener = Callable[[str, tuple], None]
_listeners: list[Listener] = []
_made: list[Reducer] = []  # at most one, this process's own


@contextlib.contextmanager
def listening(listener: Listener, device_type: str = "cpu") -> Iterator[None]:
    """listener(operator, arguments) hears every call of c10d's operators on tensors of that type, before it is made.

    It may be called from any thread. In a process that takes no notes (plain torchrun) the stand-ins are put there all the same.
    """
    reducer = _made[0] if _made else Reducer(Writer(memoryview(bytearray(REGION))), Completion(), device_type)
    reducer.install()
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


class Reducer:
    """Notes what reaches c10d's operators on this device type without a note of its own. One per process."""

    def __init__(self, writer: Writer, completion: Completion, device_type: str):
        self._writer, self._completion, self._key = writer, completion, f"Autograd{device_type.upper()}"
        self._library: torch.library.Library | None = None  # alive as long as its kernels are wanted
        self._open: list[tuple[int, dist.Work]] = []
        self._lock = threading.Lock()
        self._installed = False
        _made[:] = [self]

    def await_need(self) -> None:
        """Stand ready: the first DistributedDataParallel calls `install`."""
        ddp = torch.nn.parallel.DistributedDataParallel
        REDUCER.put(ddp, "__init__", self._installing(ddp.__init__))

    def install(self) -> None:
        """Stand in front of c10d's operators, once."""
        with self._lock:
            if self._installed:
                return
            self._installed = True
            self._library = torch.library.Library("c10d", "IMPL")
            for name, described in OPERATORS.items():
                self._put_before(name, functools.partial(self._noted, *described))
            for name in HEARD:
                self._put_before(name, lambda call, *args: call(*args))
            threading.Thread(target=self._watch, name="op-notes-reducer", daemon=True).start()

    def forget(self) -> None:
        """The records are about to be reused."""
        with self._lock:
            self._open.clear()

    def _put_before(self, name: str, stand_in: Callable) -> None:
        """stand_in(call, args) has to return call(*args), which is torch's own operator."""
        operator = getattr(torch.ops.c10d, name, None)
        if operator is None:  # this torch has no such operator
            return

        def call(*args: object) -> object:
            with torch._C._AutoDispatchBelowAutograd():
                return operator.default(*args)

        def heard(*args: object) -> object:
            for listener in tuple(_listeners):
                listener(name, args)
            return stand_in(call, *args)

        self._library.impl(name, heard, self._key)

    def _installing(self, original: Callable) -> Callable:
        @functools.wraps(original)
        def call(*args, **kwargs):
            self.install()
            return original(*args, **kwargs)

        return call

    def _noted(
        self, op: str, tensors: int | None, group: int, root: int | None, call: Callable, *args: object
    ) -> object:
        if busy():
            return call(*args)
        agreed = "" if tensors is None else tensors_text(args[tensors])
        if root is not None:
            agreed = f"{agreed} root {args[root]}"
        frame, writer, completion = sys._getframe(1), self._writer, self._completion
        text = group_text(dist.ProcessGroup.unbox(args[group]))
        record = writer.enter(op, agreed, issuer(frame), text, where=caller(frame))
        token = completion.begin(writer, record)
        try:
            result = call(*args)
        except BaseException:
            completion.failed(writer, record, token)
            raise
        self._issued(record, token, dist.Work.unbox(result[-1] if isinstance(result, tuple) else result))
        return result

    def _issued(self, record: int, token: object, work: dist.Work) -> None:
        completion, writer = self._completion, self._writer
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
                self._completion.end(self._writer, item[0], None)


def issuer(frame: FrameType | None) -> str:
    """Who called the operator, as far as the nearest Python frame of torch tells: " (DistributedDataParallel)"."""
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    name = frame.f_code.co_filename if frame else ""
    return next((text for end, text in _ISSUERS.items() if name.endswith(end)), "")
