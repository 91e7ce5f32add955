"""torch.distributed, noted: in a rank, every collective leaves a note when it is entered and when it completes. Chapter: hangs.

Only the outermost function is noted: an object collective is one note, not the two all_gathers inside it. Making a group is a
collective too. What C++ issues for DistributedDataParallel is noted one floor below (below.py), functional collectives in
functional.py. Not noted: graphs of torch.compile, what other libraries do with NCCL or MPI themselves, methods called on the
process group itself, `torch.distributed.rpc`, symmetric memory, and waits on a store.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from .below import Below
from .envelopes import Peer, pack_group
from .functional import Functional
from .notes import State, Writer
from .places import caller, ranks_text

# Every collective, and the argument whose dtype and size must be the same on all ranks.
COLLECTIVES = {
    "all_reduce": "tensor",
    "all_reduce_coalesced": None,
    "all_gather_coalesced": None,
    "reduce": "tensor",
    "broadcast": "tensor",
    "all_gather": "tensor",
    "all_gather_into_tensor": "input_tensor",
    "all_gather_single": "input_tensor",
    "reduce_scatter": "output",
    "reduce_scatter_tensor": "output",
    "reduce_scatter_single": "output",
    "gather": "tensor",
    "scatter": "tensor",
    "all_to_all": None,
    "all_to_all_single": "input",
    "barrier": None,
    "monitored_barrier": None,
    "all_gather_object": None,
    "gather_object": None,
    "broadcast_object_list": None,
    "scatter_object_list": None,
}
# Making groups: all ranks take part, also those that are in none. What must agree is the argument's text.
GROUPS = {"new_group": "ranks", "split_group": "split_ranks", "init_device_mesh": "mesh_shape"}
POINT_TO_POINT = ("send", "recv", "isend", "irecv")
_ROOTS = ("src", "dst", "group_src", "group_dst")
_PARTS = ("input_split_sizes", "output_split_sizes", "tensor_list", "input_list")  # NCCL takes such of unequal sizes
_inside = threading.local()


class Completion:
    """When is an operation complete? On the CPU: when its call, or the wait on its handle, returns.

    A token stands for one operation from `begin` to its end; `streams.StreamCompletion` is the same for GPUs.
    """

    @property
    def follows_handles(self) -> bool:
        """Does `launched` see by itself when a handle is complete?"""
        return type(self) is not Completion

    def begin(self, writer: Writer, record: int) -> object:
        """The operation is entered: returns its token."""

    def end(self, writer: Writer, record: int, token: object) -> None:
        """Its call, or the wait on its last handle, has returned."""
        writer.mark(record, State.DONE)

    def launched(self, writer: Writer, record: int, token: object, works: list[dist.Work]) -> None:
        """Its call has returned handles, and nobody waits for them yet."""
        writer.mark(record, State.LAUNCHED)

    def waiting(self, writer: Writer, record: int, token: object) -> None:
        """Somebody waits for one of its handles from now on."""
        writer.mark(record, State.INSIDE)

    def failed(self, writer: Writer, record: int, token: object) -> None:
        """It raised."""
        writer.mark(record, State.FAILED)

    def settle(self, limit: float | None = None) -> bool:
        """Wait, at most `limit` seconds, until everything enqueued is complete; False when it is not, or the GPU has failed."""
        return True

    def forget(self) -> None:
        """The records are about to be reused."""


def install(writer: Writer, completion: Completion, device_type: str = "cpu", everywhere: bool = False) -> Noter:
    """Wrap torch.distributed's functions and `Work.wait` in this process. Called once, in a rank, before the group exists.

    everywhere: also where any module has bound such a function to a name of its own, else in torch.distributed's modules.
    """
    noter = Noter(writer, completion, device_type)
    noted = {}
    for op in (*COLLECTIVES, *GROUPS, *POINT_TO_POINT, "batch_isend_irecv", "destroy_process_group"):
        if original := getattr(c10d, op, None) or getattr(dist, op, None):  # names differ between torch 2.11 and 2.13
            noted[id(original)] = original, noter.noted(original, _description(op, original))
    _rebind(noted, "" if everywhere else "torch.distributed")
    dist.Work.wait = noter.noted_wait(dist.Work.wait)
    noter.below.await_need()
    noter.functional.install()
    return noter


def _rebind(noted: dict[int, tuple[Callable, Callable]], prefix: str) -> None:
    """Wherever a module has one of the originals, under whatever name, it gets the noted one."""
    for name, module in list(sys.modules.items()):
        if module is None or not name.startswith(prefix) or name.startswith("helpers.ranks"):
            continue
        for attribute, value in list(getattr(module, "__dict__", {}).items()):
            if id(value) in noted:
                setattr(module, attribute, noted[id(value)][1])


def busy() -> bool:
    """Is this thread inside a noted operation?"""
    return getattr(_inside, "op", False)


@contextlib.contextmanager
def unnoted() -> Iterator[None]:
    """Take no notes in this thread meanwhile: what a note costs is the difference. `benchmarks/notes.py` measures it so."""
    before, _inside.op = busy(), True
    try:
        yield
    finally:
        _inside.op = before


class Noter:
    """Writes the notes of one rank; `new_call` makes their numbers start at 1 again."""

    def __init__(self, writer: Writer, completion: Completion, device_type: str = "cpu"):
        self.writer, self.completion = writer, completion
        self.below, self.functional = Below(self, device_type), Functional(self)
        self.handles: dict[int, list] = {}  # id of a Work -> [record, works still to wait for, token]

    def new_call(self) -> None:
        self.completion.forget()
        self.below.forget()
        self.functional.forget()
        self.handles.clear()
        self.writer.clear()

    def noted(self, original: Callable, describe: Callable) -> Callable:
        @functools.wraps(original)
        def call(*args, **kwargs):
            if getattr(_inside, "op", False) or (described := describe(args, kwargs)) is None:
                return original(*args, **kwargs)
            record = self.writer.enter(*described, where=caller(sys._getframe(1)))
            token = self.completion.begin(self.writer, record)
            _inside.op = True
            try:
                result = original(*args, **kwargs)
            except BaseException:
                self.completion.failed(self.writer, record, token)
                raise
            finally:
                _inside.op = False
            self._returned(record, result, token)
            return result

        return call

    def _returned(self, record: int, result: object, token: object) -> None:
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


def _description(op: str, original: Callable) -> Callable:
    if op == "batch_isend_irecv":
        return _describe_batch
    if op == "destroy_process_group":
        return lambda args, kwargs: (op, "", "", None)
    return _describe_making(op, original) if op in GROUPS else describer(op, original)


def _describe_making(op: str, original: Callable) -> Callable:
    """new_group and its like; one that only its members call is not numbered."""
    signature = inspect.signature(original)

    def describe(args: tuple, kwargs: dict) -> tuple:
        given = signature.bind(*args, **kwargs).arguments
        what, local = given.get(GROUPS[op]), given.get("use_local_synchronization")
        text = "all ranks" if what is None else ranks_text(list(what)) if op == "new_group" else str(what)
        return op, text, "", None if local else ""

    return describe


def describer(op: str, original: Callable) -> Callable:
    """A function of a call's arguments: what `Writer.enter` wants to know of it, except the line; None: it is not noted."""
    names = tuple(inspect.signature(original).parameters)
    tensor, numbered = COLLECTIVES.get(op, "tensor"), op in COLLECTIVES
    roots = [name for name in _ROOTS if name in names]
    reduces, parts = "op" in names, [name for name in _PARTS if name in names]

    def describe(args: tuple, kwargs: dict) -> tuple | None:
        value = (dict(zip(names, args, strict=False)) | kwargs).get
        group = value("group")
        if group is dist.GroupMember.NON_GROUP_MEMBER:  # torch warns and does nothing
            return None
        peer = _global_rank(((name, value(name)) for name in roots), group) if roots else None
        what = tensor_text(value(tensor)) if tensor else ""
        if not numbered:
            tag = _tag(value("tag"), group)
            return op, what, "", group_text(group), (Peer("send" in op, peer, tag),)
        if parts and any(_uneven(value(name)) for name in parts):
            what = ""  # sizes may differ from rank to rank
        if peer is not None:
            what = f"{what} root {peer}".lstrip()
        if reduces and (kind := value("op")) not in (None, dist.ReduceOp.SUM):
            what = f"{what} {getattr(kind, 'name', 'custom').lower()}"
        return op, what, "", group_text(group)

    return describe


def _describe_batch(args: tuple, kwargs: dict) -> tuple:
    ops = args[0] if args else kwargs["p2p_op_list"]
    peers = [Peer("send" in op.op.__name__, op.peer, _tag(op.tag, op.group), tensor_text(op.tensor)) for op in ops]
    return "batch_isend_irecv", "", "", group_text(ops[0].group) if ops else None, peers


def _global_rank(given: Iterable[tuple[str, int | None]], group: dist.ProcessGroup | None) -> int | None:
    """The first rank that was given, among all ranks: group_src and group_dst count within the group."""
    name, rank = next(((name, rank) for name, rank in given if rank is not None), ("", None))
    if name.startswith("group_") and group is not None and rank in range(group.size()):
        return dist.get_global_rank(group, rank)
    return rank


def _tag(tag: int | None, group: dist.ProcessGroup | None) -> int:
    """0 over NCCL, which knows no tags."""
    return 0 if not tag or "nccl" in dist.get_backend(group) else tag


def _uneven(parts: object) -> bool:
    """Sizes of parts, or parts, that perhaps are not the same for every rank."""
    if not isinstance(parts, list | tuple) or not parts:
        return False
    return not isinstance(parts[0], torch.Tensor) or len({part.numel() for part in parts}) > 1


@functools.cache
def _dtype_text(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def tensor_text(tensor: object) -> str:
    """ "float32[1024]": what must agree is the dtype and the number of elements, not the shape."""
    if not isinstance(tensor, torch.Tensor):
        return type(tensor).__name__
    return f"{_dtype_text(tensor.dtype)}[{tensor.numel()}]"


def tensors_text(tensors: object) -> str:
    """ "float32[1024]"; of a list the sum: "float32[96] in 3 tensors"."""
    found = [tensors] if isinstance(tensors, torch.Tensor) else tensors
    if len(found) == 1:
        return tensor_text(found[0])
    kinds = sorted({str(t.dtype).removeprefix("torch.") for t in found})
    return f"{'+'.join(kinds)}[{sum(t.numel() for t in found)}] in {len(found)} tensors"


def resolved(group: dist.ProcessGroup | str) -> dist.ProcessGroup:
    """The group itself, where only its name is at hand."""
    return c10d._resolve_process_group(group) if isinstance(group, str) else group


def group_text(group: dist.ProcessGroup | None) -> str:
    """ "" for all ranks, else the group's name, which is the same on all its ranks, and its members: packed for a note."""
    if group is None or group is dist.group.WORLD:
        return ""
    mesh = group.group_desc[5:] if group.group_desc.startswith("mesh_") else ""
    return pack_group(group.group_name, dist.get_process_group_ranks(group), mesh)
