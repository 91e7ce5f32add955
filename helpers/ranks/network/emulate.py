"""Any network on one machine: every message carries the time when it is due, and its receiver sleeps until then.

`Ranks(4, link=...)` takes what `price` takes, a Link or a topology with link(src, dst), and what these ranks then measure lies on
what `price` says (`ports` has the rule). No root, no other processes; Gloo moves the bytes meanwhile. Emulated are

- messages: send, recv, isend, irecv, batch_isend_irecv, with tags, from anyone, in subgroups too, and so `execute`;
- torch's own collectives, on all ranks and in groups of some: they are played by the catalogue's schedules (`collectives` says by
  which), in a group over the links between its members.

Not emulated, and refused with what to do instead: reductions bit by bit, uneven splits, DistributedDataParallel.
Not emulated, at full speed: the object functions (they carry no payload of a lesson), and what C++ issues by itself, as
functional collectives do. A barrier of all ranks takes 3 ms, and lets all of them go at one moment. A network that is faster
than this machine's own memory is not reached.
Chapters: ring, latency-bandwidth, meshes, overlap.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path

import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from helpers.patches import NETWORK

from . import collectives
from .nic import Nic, aside, is_aside, waiter
from .ports import Ports, Wires, clock

ASIDE = (
    "monitored_barrier",
    "all_gather_object",
    "gather_object",
    "broadcast_object_list",
    "scatter_object_list",
    "send_object_list",
    "recv_object_list",
)


def install(network: object, rank: int, nranks: int, scratch: str) -> None:
    """Put the network between this rank and the others. Called once, in a rank, before the op notes wrap torch's functions."""
    wires = network if isinstance(network, Wires) else Wires.of(network, nranks)
    nic = Nic(rank, Ports(wires.costs[rank], Path(scratch, "ports")))
    for name, way in (("isend", nic.isend), ("irecv", nic.irecv)):  # send, recv and batch_isend_irecv call these two
        _replace(name, wraps(getattr(c10d, name))(partial(way)))
    _replace("barrier", _together(c10d.barrier, nic.ports))
    for name in ASIDE:
        _replace(name, _set_aside(getattr(c10d, name)))
    for name, call in collectives.build(nic).items():
        _replace(name, call)
    NETWORK.put(dist.Work, "wait", waiter(dist.Work.wait))


def _replace(name: str, call: Callable) -> None:
    for module in (c10d, dist):
        if hasattr(module, name):
            NETWORK.put(module, name, call)


def _together(original: Callable, ports: Ports) -> Callable:
    """torch's barrier lets ranks go one by one, a millisecond apart on a busy machine; ours lets all go at one moment."""

    @wraps(original)
    def barrier(group=None, async_op=False, device_ids=None):
        everyone = group in (None, dist.group.WORLD) and not async_op and not is_aside()
        ticket = ports.arrive(time.monotonic()) if everyone else None
        with aside():
            work = original(group, async_op, device_ids)
        if everyone:
            together = ports.leave(ticket)
            clock.wait_until(together)
            clock.on_time(together)
        return work

    return barrier


def _set_aside(original: Callable) -> Callable:
    @wraps(original)
    def call(*args, **kwargs):
        with aside():
            return original(*args, **kwargs)

    return call
