"""A rank's way to an emulated network: torch's isend and irecv, each message with the time when it is due before its payload.

The receiver sleeps until then. Nothing else travels, so tags, messages from anyone and any order of waiting are torch's own.
Chapter: latency-bandwidth.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from functools import wraps

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from .ports import Ports, clock

_HEADER = 16  # bytes before the payload: when it is due (seconds), and how long it is; keeps any dtype aligned


class _Aside(threading.local):
    on = False


_aside = _Aside()


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """What is said in here is not on the emulated network: bookkeeping of the ranks themselves. No effect where there is none."""
    outer, _aside.on = _aside.on, True
    try:
        yield
    finally:
        _aside.on = outer
        clock.on_time()


def is_aside() -> bool:
    return _aside.on


class Nic:
    """This rank's way to the network: torch's isend and irecv, with a header before every payload."""

    def __init__(self, rank: int, ports: Ports):
        self.rank, self.ports = rank, ports
        self._peers = range(len(ports.costs))
        self._isend, self._irecv = c10d.isend, c10d.irecv

    def isend(self, tensor, dst=None, group=None, tag=0, group_dst=None):
        """torch's isend. Its wait returns when the message has left this rank's port."""
        peer = _global_rank(group, dst, group_dst)
        if peer is None or self._direct(tensor, group, peer):
            return self._isend(tensor, dst, group, tag, group_dst)
        now, payload = clock.now(), _bytes(tensor)
        left, due = self.ports.book(peer, payload.numel(), now)
        message = payload.new_empty(_HEADER + payload.numel(), device="cpu")
        message[:_HEADER].view(torch.float64).copy_(
            torch.tensor((due, payload.numel()), dtype=torch.float64, device="cpu")
        )
        message[_HEADER:].copy_(payload)
        return Sent(self._isend(message, dst, group, tag, group_dst), left)

    def irecv(self, tensor, src=None, group=None, tag=0, group_src=None):
        """torch's irecv. Its wait returns when the message is due; not before is anything in `tensor`."""
        peer = _global_rank(group, src, group_src)
        if self._direct(tensor, group, peer):
            return self._irecv(tensor, src, group, tag, group_src)
        message = torch.empty(_HEADER + tensor.nbytes, dtype=torch.uint8, device="cpu")
        return Received(self._irecv(message, src, group, tag, group_src), message, tensor)

    def _direct(self, tensor: object, group: object, peer: int | None) -> bool:
        """Aside, to itself, or wrong in a way that torch has words for."""
        dense = isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided and tensor.is_contiguous()
        there = peer is None or (peer in self._peers and peer != self.rank)
        return _aside.on or not dense or not there or group == dist.GroupMember.NON_GROUP_MEMBER


def _global_rank(group: object, peer: int | None, group_peer: int | None) -> int | None:
    """The peer's rank among all ranks; None for anyone, or where it cannot be told."""
    if peer is not None or group_peer is None or group in (None, dist.group.WORLD):
        return group_peer if peer is None else peer
    members = dist.get_process_group_ranks(group) if group != dist.GroupMember.NON_GROUP_MEMBER else ()
    return dict(enumerate(members)).get(group_peer, -1)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as flat bytes."""
    flat = tensor.detach().view(-1)
    return (torch.view_as_real(flat) if flat.is_complex() else flat).view(-1).view(torch.uint8)


class Pending(dist.Work):
    """A handle of ours. It defines no `wait`: see `waiter`. Like Gloo's, it is complete once somebody has waited.

    at: when that was on the network, once somebody has waited for a message: it may have been before others that were waited for.
    """

    at: float | None = None

    def __init__(self):
        super().__init__()
        self._done = False

    def finish(self, wait: Callable[[dist.Work], bool]) -> bool:
        """`wait` is torch's own, with the reader's timeout. Waiting again does nothing."""
        if not self._done:
            self._finish(wait)
            self._done = True
        return True

    def _finish(self, wait: Callable[[dist.Work], bool]) -> None:
        raise NotImplementedError

    def is_completed(self) -> bool:
        return self._done

    def is_success(self) -> bool:
        return self._done


class Sent(Pending):
    def __init__(self, inner: dist.Work | None, left: float):
        super().__init__()
        self._inner, self._left = inner, left

    def _finish(self, wait: Callable[[dist.Work], bool]) -> None:
        wait(self._inner)
        self.at = self._left
        clock.wait_until(self.at)


class Received(Pending):
    def __init__(self, inner: dist.Work | None, message: torch.Tensor, tensor: torch.Tensor):
        super().__init__()
        self._inner, self._message, self._tensor = inner, message, tensor

    def _finish(self, wait: Callable[[dist.Work], bool]) -> None:
        wait(self._inner)
        due, nbytes = self._message[:_HEADER].view(torch.float64).tolist()
        payload = self._message[_HEADER : _HEADER + int(nbytes)]  # as in torch, it may be shorter than the tensor
        _bytes(self._tensor)[: payload.numel()].copy_(payload)
        self._message, self.at = None, due
        clock.wait_until(due)

    def _source_rank(self) -> int:
        return self._inner._source_rank()

    def source_rank(self) -> int:
        return self._inner.source_rank()


def waiter(original: Callable) -> Callable:
    """`Work.wait` is one function for all works, so that the op notes find ours where they find torch's."""

    @wraps(original)
    def wait(work, *args, **kwargs):
        if isinstance(work, Pending):
            return work.finish(lambda inner: original(inner, *args, **kwargs))
        return original(work, *args, **kwargs)

    return wait
