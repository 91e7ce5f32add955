"""What a note says of a call: its operation, what must agree on all ranks, its group and its peers. Chapter: hangs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from .envelopes import Peer, pack_group
from .reader_lines import ranks_text

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


def description(op: str, original: Callable) -> Callable:
    """A function of a call's arguments: what `Writer.enter` wants to know of it, except the line; None: it is not noted."""
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
    """Of a collective, a send or a receive."""
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


def _describe_batch(args: tuple, kwargs: dict) -> tuple | None:
    ops = args[0] if args else kwargs["p2p_op_list"]
    if not isinstance(ops, list) or not ops or not all(isinstance(op, dist.P2POp) for op in ops):
        return None  # torch says what is wrong
    peers = [Peer("send" in op.op.__name__, op.peer, _tag(op.tag, op.group), tensor_text(op.tensor)) for op in ops]
    return "batch_isend_irecv", "", "", group_text(ops[0].group), peers


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
