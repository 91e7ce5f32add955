"""torch.distributed, noted: in a rank, every collective leaves a note when it is entered and when it completes. Chapter: hangs.

Only the outermost function is noted: an object collective is one note, not the two all_gathers inside it. Making a group is a
collective too. What C++ issues for DistributedDataParallel is noted one floor below (reducer.py), functional collectives in
functional.py. Not noted: graphs of torch.compile, what other libraries do with NCCL or MPI themselves, methods called on the
process group itself, `torch.distributed.rpc`, symmetric memory, and waits on a store.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable

import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from helpers.patches import NOTED
from helpers.ranks.notes.descriptions import COLLECTIVES, GROUPS, POINT_TO_POINT, description
from helpers.ranks.notes.notes import Writer
from helpers.ranks.notes.reader_lines import caller

from .completion import Completion
from .functional import Functional
from .guarding import SAID, guard
from .outermost import busy, unnoted
from .reducer import Reducer


def install(writer: Writer, completion: Completion, device_type: str = "cpu", everywhere: bool = False) -> Noter:
    """Wrap torch.distributed's functions and `Work.wait` in this process. Called once, in a rank, before the group exists.

    everywhere: also where any module has bound such a function to a name of its own, else in torch.distributed's modules.
    """
    noter = Noter(writer, completion, device_type)
    noted = {}
    for op in (*COLLECTIVES, *GROUPS, *POINT_TO_POINT, "batch_isend_irecv", "destroy_process_group"):
        if original := getattr(c10d, op, None) or getattr(dist, op, None):  # names differ between torch 2.11 and 2.13
            check = None if everywhere else guard(op, original)  # a script that is only watched stays as it is
            noted[id(original)] = original, noter.noted(original, description(op, original), check)
    _rebind(noted, "" if everywhere else "torch.distributed")
    NOTED.put(dist.Work, "wait", noter.noted_wait(dist.Work.wait))
    noter.reducer.await_need()
    noter.functional.install()
    return noter


def _rebind(noted: dict[int, tuple[Callable, Callable]], prefix: str) -> None:
    """Wherever a module has one of the originals, under whatever name, it gets the noted one."""
    for name, module in list(sys.modules.items()):
        if module is None or not name.startswith(prefix) or name.startswith("helpers.ranks"):
            continue
        for attribute, value in list(getattr(module, "__dict__", {}).items()):
            if id(value) in noted:
                NOTED.put(module, attribute, noted[id(value)][1])


class Noter:
    """Writes the notes of one rank; `new_call` makes their numbers start at 1 again."""

    def __init__(self, writer: Writer, completion: Completion, device_type: str = "cpu"):
        self.writer, self.completion = writer, completion
        self.reducer = Reducer(writer, completion, device_type)
        self.functional = Functional(writer, completion)
        self.handles: dict[int, list] = {}  # id of a Work -> [record, works still to wait for, token]

    def new_call(self) -> None:
        self.completion.forget()
        self.reducer.forget()
        self.functional.forget()
        self.handles.clear()
        SAID.clear()
        self.writer.clear()

    def noted(self, original: Callable, describe: Callable, check: Callable | None = None) -> Callable:
        @functools.wraps(original)
        def call(*args, **kwargs):
            if busy() or (described := describe(args, kwargs)) is None:
                return original(*args, **kwargs)
            if check:
                check(args, kwargs)
            record = self.writer.enter(*described, where=caller(sys._getframe(1)))
            token = self.completion.begin(self.writer, record)
            try:
                with unnoted():
                    result = original(*args, **kwargs)
            except BaseException:
                self.completion.failed(self.writer, record, token)
                raise
            self._returned(record, result, token)
            return result

        return call

    def _returned(self, record: int, result: object, token: object) -> None:
        if result is None:  # most often, and first: what follows is cold code after a wait
            return self.completion.end(self.writer, record, token)
        works = [w for w in (result if isinstance(result, list) else [result]) if isinstance(w, dist.Work)]
        if not works:
            return self.completion.end(self.writer, record, token)
        self.completion.launched(self.writer, record, token, works)
        entry = [record, len(works), token]
        self.handles.update((id(work), entry) for work in works)
        return None

    def noted_wait(self, original: Callable) -> Callable:
        @functools.wraps(original)
        def wait(work, *args, **kwargs):
            entry = self.handles.pop(id(work), None)
            if entry is None:
                return original(work, *args, **kwargs)
            self.completion.waiting(self.writer, entry[0], entry[2])
            try:
                result = original(work, *args, **kwargs)
            except BaseException:
                self.completion.failed(self.writer, entry[0], entry[2])
                raise
            entry[1] -= 1
            if not entry[1]:
                self.completion.end(self.writer, entry[0], entry[2])
            return result

        return wait
