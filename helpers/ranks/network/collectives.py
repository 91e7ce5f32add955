"""torch's own collectives on an emulated network: a schedule of the catalogue plays each. Chapters: ring, latency-bandwidth.

all_reduce, all_gather and reduce_scatter go by ring, broadcast and reduce by binomial tree, scatter, gather and all_to_all flat:
`PLAYED`. So `price(CATALOGUE["all_reduce", "ring"](n), nbytes, link)` is what dist.all_reduce takes there, and in a group of some
ranks what it takes with the links between these. With async_op=True a thread plays (`stage`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial, wraps

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d
from torch.nn.parallel import DistributedDataParallel

from helpers.patches import NETWORK

from .nic import Nic, is_aside
from .stage import PLAYED, Part, Stage

__all__ = ["PLAYED", "build"]

COALESCED = ("all_reduce_coalesced", "all_gather_coalesced")
_OPS = {
    "sum": dist.ReduceOp.SUM,
    "avg": dist.ReduceOp.AVG,
    "prod": dist.ReduceOp.PRODUCT,
    "min": dist.ReduceOp.MIN,
    "max": dist.ReduceOp.MAX,
}
_INSTEAD = "send and receive it yourself, play a schedule with execute(...), or use Ranks without link="


def build(nic: Nic) -> dict[str, Callable]:
    """What takes the place of each of torch's functions, by its name; DistributedDataParallel is refused from now on."""
    stage = Stage(nic)
    names = [name for name in _ROLES if hasattr(c10d, name)]  # they differ between torch 2.11 and 2.13
    found = {name: _stand_in(name, getattr(c10d, name), stage) for name in names}
    refused = _refused("DistributedDataParallel", DistributedDataParallel.__init__)
    NETWORK.put(DistributedDataParallel, "__init__", refused)
    return found | {name: _refused(name, getattr(c10d, name)) for name in COALESCED if hasattr(c10d, name)}


def _stand_in(name: str, original: Callable, stage: Stage) -> Callable:
    signature, role = inspect.signature(original), _ROLES[name]

    @wraps(original)
    def call(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        later, group = given.pop("async_op", False), given.pop("group", None)
        outside = group == dist.GroupMember.NON_GROUP_MEMBER  # torch warns, and does nothing
        if is_aside() or outside or not _all_tensors(given):  # torch has the words for what is wrong
            return original(*args, **kwargs)
        op, queue = _op(name, given.pop("op", dist.ReduceOp.SUM)), stage.of(group)
        return queue.perform(partial(role, **_rooted(given, queue.team.members)), op, later)

    return call


def _refused(name: str, original: Callable) -> Callable:
    @wraps(original)
    def call(*args, **kwargs):
        raise NotImplementedError(f"{name} would pass an emulated network at full speed: {_INSTEAD}")

    return call


def _all_tensors(given: dict[str, object]) -> bool:
    values = [v for name, v in given.items() if "tensor" in name or "list" in name or name in ("input", "output")]
    flat = [t for v in values if v is not None for t in (v if isinstance(v, (list, tuple)) else [v])]
    return all(isinstance(t, torch.Tensor) for t in flat)


def _op(name: str, op: object) -> str:
    """The reduction under the name that `play` has for it."""
    for known, torchs in _OPS.items():
        if op == torchs:
            return known
    raise NotImplementedError(f"an emulated network plays {name} with {', '.join(_OPS)}, got {op}: {_INSTEAD}")


def _rooted(given: dict[str, object], members: tuple[int, ...]) -> dict[str, object]:
    """The root by its place in the group: group_src and group_dst say it, src and dst are numbers among all ranks.

    ValueError for a root that is not in the group.
    """
    everywhere = [given.pop(name, None) for name in ("src", "dst")]
    inside = [given.pop(name, None) for name in ("group_src", "group_dst")]
    if (root := next((r for r in everywhere if r is not None), None)) is not None:
        if root not in members:
            raise ValueError(f"the root is one of the group's ranks {list(members)}, got {root}")
        return given | {"root": members.index(root)}
    root = next((r for r in inside if r is not None), None)
    return given if root is None else given | {"root": root}


def _even(name: str, tensors: Sequence[torch.Tensor] | None, nranks: int) -> list[torch.Tensor]:
    """A list with one tensor per rank of the group, all of one size and dtype."""
    if len(tensors or ()) != nranks:
        raise ValueError(f"{name} holds one tensor per rank: expected {nranks}, got {len(tensors or ())}")
    if len({(t.numel(), t.dtype) for t in tensors}) > 1:
        sizes = ", ".join(f"{t.numel()} of {t.dtype}" for t in tensors)
        raise NotImplementedError(f"an emulated network plays equal parts only, got {name} with {sizes}: {_INSTEAD}")
    return list(tensors)


def _flat(name: str, tensors: Sequence[torch.Tensor] | None, nranks: int) -> torch.Tensor:
    return torch.cat([t.reshape(-1) for t in _even(name, tensors, nranks)])


def _hand_out(flat: torch.Tensor, tensors: list[torch.Tensor]) -> None:
    for tensor, part in zip(tensors, flat.reshape(-1).split(tensors[0].numel() or 1), strict=False):
        tensor.copy_(part.view_as(tensor))


# The roles: what each function does with its arguments, under torch's own names; `part` plays it. -------------
def _all_reduce(part: Part, tensor):
    part("all_reduce", tensor, out=tensor)


def _reduce(part: Part, tensor, root=0):
    part("reduce", tensor, root, out=tensor)


def _broadcast(part: Part, tensor, root=0):
    part("broadcast", tensor, root, out=tensor)


def _all_gather(part: Part, tensor_list, tensor):
    parts = _even("tensor_list", tensor_list, part.team.nranks)
    _hand_out(part("all_gather", tensor), parts)


def _all_gather_single(part: Part, output_tensor, input_tensor):
    part("all_gather", input_tensor, out=output_tensor)


def _reduce_scatter(part: Part, output, input_list):
    part("reduce_scatter", _flat("input_list", input_list, part.team.nranks), out=output)


def _reduce_scatter_single(part: Part, output, input):
    part("reduce_scatter", input, out=output)


def _gather(part: Part, tensor, gather_list=None, root=0):
    parts = _even("gather_list", gather_list, part.team.nranks) if part.team.rank == root else []
    flat = part("gather", tensor, root)
    if parts:
        _hand_out(flat, parts)


def _scatter(part: Part, tensor, scatter_list=None, root=0):
    whole = _flat("scatter_list", scatter_list, part.team.nranks) if part.team.rank == root else tensor
    part("scatter", whole, root, out=tensor)


def _all_to_all_single(part: Part, output, input, output_split_sizes=None, input_split_sizes=None):
    for name, sizes in (("output_split_sizes", output_split_sizes), ("input_split_sizes", input_split_sizes)):
        if len(set(sizes or ())) > 1:
            raise NotImplementedError(f"an emulated network plays equal parts only, got {name}={sizes}: {_INSTEAD}")
    part("all_to_all", input, out=output)


def _all_to_all(part: Part, output_tensor_list, input_tensor_list):
    parts = _even("output_tensor_list", output_tensor_list, part.team.nranks)
    _hand_out(part("all_to_all", _flat("input_tensor_list", input_tensor_list, part.team.nranks)), parts)


_ROLES = {
    "all_reduce": _all_reduce,
    "reduce": _reduce,
    "broadcast": _broadcast,
    "all_gather": _all_gather,
    "all_gather_into_tensor": _all_gather_single,
    "all_gather_single": _all_gather_single,
    "reduce_scatter": _reduce_scatter,
    "reduce_scatter_tensor": _reduce_scatter_single,
    "reduce_scatter_single": _reduce_scatter_single,
    "gather": _gather,
    "scatter": _scatter,
    "all_to_all_single": _all_to_all_single,
    "all_to_all": _all_to_all,
}
