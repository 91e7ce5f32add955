"""torch's own collectives on an emulated network: a schedule of the catalogue plays each. Chapters: ring, latency-bandwidth.

all_reduce, all_gather and reduce_scatter go by ring, broadcast and reduce by binomial tree, scatter, gather and all_to_all flat:
`PLAYED`. So `price(CATALOGUE["all_reduce", "ring"](n), nbytes, link)` is what dist.all_reduce takes there. With async_op=True a thread
plays, one collective after the other in the order in which they were called, as NCCL does on its stream.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from concurrent import futures
from functools import partial, wraps

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d
from torch.nn.parallel import DistributedDataParallel

from helpers.collectives import CATALOGUE
from helpers.patches import NETWORK
from helpers.ranks.play.play import Pair, play

from .nic import Nic, Pending, is_aside
from .ports import clock

PLAYED = {
    "all_reduce": "ring",
    "all_gather": "ring",
    "reduce_scatter": "ring",
    "broadcast": "binomial",
    "reduce": "binomial",
    "scatter": "flat",
    "gather": "flat",
    "all_to_all": "flat",
}
COALESCED = ("all_reduce_coalesced", "all_gather_coalesced")
_TAGS = 2**20  # the stand-ins' messages carry tags from here on, which no message of the reader's has
_INSTEAD = "send and receive it yourself, play a schedule with execute(...), or use Ranks without link="


def build(nic: Nic) -> dict[str, Callable]:
    """What takes the place of each of torch's functions, by its name; DistributedDataParallel is refused from now on."""
    stage = Stage(nic)
    names = [name for name in _ROLES if hasattr(c10d, name)]  # they differ between torch 2.11 and 2.13
    found = {name: _stand_in(name, getattr(c10d, name), stage) for name in names}
    refused = _refused("DistributedDataParallel", DistributedDataParallel.__init__)
    NETWORK.put(DistributedDataParallel, "__init__", refused)
    return found | {name: _refused(name, getattr(c10d, name)) for name in COALESCED if hasattr(c10d, name)}


class Stage:
    """Where a rank plays its collectives: in the caller's thread, or in one of its own when they are asynchronous."""

    def __init__(self, nic: Nic):
        self._nic, self._count = nic, 0
        self._thread: futures.ThreadPoolExecutor | None = None
        self._latest: futures.Future | None = None

    def perform(self, role: Callable, later: bool) -> Pending | None:
        """Play `role(perform)`, now or later; every collective has a tag of its own, the same on all ranks."""
        self._count += 1
        part = partial(role, partial(self._play, _TAGS + self._count % _TAGS))
        if later:
            self._thread = self._thread or futures.ThreadPoolExecutor(1, "emulated-network")
            self._latest = self._thread.submit(_at, clock.now(), part)
            return Playing(self._latest)
        if self._latest:  # what was called before comes first
            futures.wait([self._latest])
        return _at(clock.now(), part)

    def _play(self, tag: int, collective: str, tensor: torch.Tensor, root: int | None = None, out=None) -> torch.Tensor:
        options = {} if root is None else {"root": root}
        s = CATALOGUE[collective, PLAYED[collective]](nranks=dist.get_world_size(), **options)
        return play(s, tensor, out, partial(self._post, tag))

    def _post(self, tag: int, number: int, messages: Sequence[Pair]) -> list[dist.Work]:
        """Below the op notes: the collective itself is what is noted."""
        ways = {"send": self._nic.isend, "recv": self._nic.irecv}
        return [ways[message.kind](payload, message.peer, tag=tag) for message, payload in messages]


def _at(start: float, part: Callable[[], None]) -> None:
    with clock.model(start), torch.no_grad():  # a parameter can be summed in place, as in torch
        part()


class Playing(Pending):
    """The handle of an asynchronous collective."""

    def __init__(self, future: futures.Future):
        super().__init__()
        self._future = future

    def _finish(self, wait: Callable[[dist.Work], bool]) -> None:
        self._future.result()

    def is_completed(self) -> bool:
        return self._future.done()


def _stand_in(name: str, original: Callable, stage: Stage) -> Callable:
    signature, role = inspect.signature(original), _ROLES[name]

    @wraps(original)
    def call(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        later, group = given.pop("async_op", False), given.pop("group", None)
        outside = group == dist.GroupMember.NON_GROUP_MEMBER  # torch warns, and does nothing
        if is_aside() or outside or not _all_tensors(given):  # torch has the words for what is wrong
            return original(*args, **kwargs)
        _refuse(name, group, given.pop("op", dist.ReduceOp.SUM))
        return stage.perform(partial(role, **_rooted(given)), later)

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


def _refuse(name: str, group: object, op: object) -> None:
    if group not in (None, dist.group.WORLD):
        members = dist.get_process_group_ranks(group)
        raise NotImplementedError(
            f"an emulated network plays {name} on all ranks only, got a group of {members}: {_INSTEAD}"
        )
    if op != dist.ReduceOp.SUM:
        raise NotImplementedError(f"an emulated network plays {name} with sums only, got {op}: {_INSTEAD}")


def _rooted(given: dict[str, object]) -> dict[str, object]:
    """src, dst, group_src and group_dst say the same on the group of all ranks: the root."""
    roots = [given.pop(name, None) for name in ("src", "dst", "group_src", "group_dst")]
    root = next((r for r in roots if r is not None), None)
    return given if root is None else given | {"root": root}


def _even(name: str, tensors: Sequence[torch.Tensor] | None) -> list[torch.Tensor]:
    """A list with one tensor per rank, all of one size and dtype."""
    if len(tensors or ()) != dist.get_world_size():
        raise ValueError(
            f"{name} holds one tensor per rank: expected {dist.get_world_size()}, got {len(tensors or ())}"
        )
    if len({(t.numel(), t.dtype) for t in tensors}) > 1:
        sizes = ", ".join(f"{t.numel()} of {t.dtype}" for t in tensors)
        raise NotImplementedError(f"an emulated network plays equal parts only, got {name} with {sizes}: {_INSTEAD}")
    return list(tensors)


def _flat(name: str, tensors: Sequence[torch.Tensor] | None) -> torch.Tensor:
    return torch.cat([t.reshape(-1) for t in _even(name, tensors)])


def _hand_out(flat: torch.Tensor, tensors: list[torch.Tensor]) -> None:
    for tensor, part in zip(tensors, flat.reshape(-1).split(tensors[0].numel() or 1), strict=False):
        tensor.copy_(part.view_as(tensor))


# The roles: what each function does with its arguments, under torch's own names; `play_it` plays a collective. -------------
def _all_reduce(play_it, tensor):
    play_it("all_reduce", tensor, out=tensor)


def _reduce(play_it, tensor, root=0):
    play_it("reduce", tensor, root, out=tensor)


def _broadcast(play_it, tensor, root=0):
    play_it("broadcast", tensor, root, out=tensor)


def _all_gather(play_it, tensor_list, tensor):
    parts = _even("tensor_list", tensor_list)
    _hand_out(play_it("all_gather", tensor), parts)


def _all_gather_single(play_it, output_tensor, input_tensor):
    play_it("all_gather", input_tensor, out=output_tensor)


def _reduce_scatter(play_it, output, input_list):
    play_it("reduce_scatter", _flat("input_list", input_list), out=output)


def _reduce_scatter_single(play_it, output, input):
    play_it("reduce_scatter", input, out=output)


def _gather(play_it, tensor, gather_list=None, root=0):
    parts = _even("gather_list", gather_list) if dist.get_rank() == root else []
    flat = play_it("gather", tensor, root)
    if parts:
        _hand_out(flat, parts)


def _scatter(play_it, tensor, scatter_list=None, root=0):
    whole = _flat("scatter_list", scatter_list) if dist.get_rank() == root else tensor
    play_it("scatter", whole, root, out=tensor)


def _all_to_all_single(play_it, output, input, output_split_sizes=None, input_split_sizes=None):
    for name, sizes in (("output_split_sizes", output_split_sizes), ("input_split_sizes", input_split_sizes)):
        if len(set(sizes or ())) > 1:
            raise NotImplementedError(f"an emulated network plays equal parts only, got {name}={sizes}: {_INSTEAD}")
    play_it("all_to_all", input, out=output)


def _all_to_all(play_it, output_tensor_list, input_tensor_list):
    parts = _even("output_tensor_list", output_tensor_list)
    _hand_out(play_it("all_to_all", _flat("input_tensor_list", input_tensor_list)), parts)


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
