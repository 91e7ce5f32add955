"""Right results: every primitive, shared GPUs, streams, handles, graphs; and what it takes to start."""

from __future__ import annotations

import os
import time
from multiprocessing import forkserver

import torch
import torch.distributed as dist

from helpers.ranks.machine import sharing
from helpers.ranks.machine.devices import plan
from helpers.ranks.primitives import perform_all
from helpers.ranks.recorded import machine, versions
from helpers.ranks.timing.timing import cycles_a_second

from . import kept
from .faults import healthy
from .place import TIMEOUT, Place, nccl_files, on_gpus


def here(place: Place) -> dict:
    """Machine, versions, and which GPU can read which other's memory."""
    found = {"machine": machine(), "versions": versions(), "gpus usable": place.gpus}
    if place.backend == "nccl":
        with place.new(1) as one:
            (found["peers"],) = one.run(peers)
    return found


def peers() -> list[list[bool]]:
    """Row: a GPU; column: may it read that one's memory directly?"""
    count = range(torch.cuda.device_count())
    return [[a == b or torch.cuda.can_device_access_peer(a, b) for b in count] for a in count]


def start(place: Place) -> dict:
    """Seconds until the first call of new ranks has ended: the first time, and again; and of a second call, which starts nothing.

    The first time is one only where this process has not started any: the server of the later ones has imported torch by then.
    """
    found: dict = {}
    for which in ("later start",) if warm() else ("first start", "later start"):
        began = time.monotonic()
        with place.new() as ranks:
            assert ranks.run(healthy) == [4.0 * place.nranks] * place.nranks
            found[which] = time.monotonic() - began
            found["label"] = ranks.label
            began = time.monotonic()
            ranks.run(healthy)
            found["next call"] = time.monotonic() - began
    return found


def warm() -> bool:
    """Has this process a server from which ranks are forked?"""
    return forkserver._forkserver._forkserver_pid is not None


def primitives(place: Place) -> dict:
    """All ten, from the first rank and from the last, against what the paper says."""
    with place.ranks() as ranks:
        seen = [moved for root in (0, place.nranks - 1) for each in ranks.run(perform_all, root) for moved in each]
    wrong = [f"{m.name} on rank {m.rank}: {m.after}, not {m.expected}" for m in seen if not m.right]
    assert not wrong, "; ".join(wrong)
    return {"runs": len(seen)}


def shared(place: Place) -> dict:
    """Two ranks on one GPU, by each way that this NCCL has: right results, and a label that says what they are worth."""
    version, found = sharing.nccl_version(), {}
    ways = {"NCCL_HOSTID": (0, 0)} | (
        {"NCCL_MULTI_RANK_GPU_ENABLE": version} if version >= sharing.ALLOWED_FROM else {}
    )
    asked = os.environ.get("CUDA_VISIBLE_DEVICES")
    os.environ["CUDA_VISIBLE_DEVICES"] = (asked or "0").split(",")[0]
    try:
        assert plan(2, "nccl").shared
        for way, pretended in ways.items():
            began = time.monotonic()
            sharing.nccl_version, real = (lambda pretended=pretended: pretended), sharing.nccl_version
            try:
                with place.new(2, timeout=60.0) as ranks:
                    assert ranks.label.endswith("shares a GPU: not timed"), ranks.label
                    wrong = [m.name for each in ranks.run(perform_all) for m in each if not m.right]
            finally:
                sharing.nccl_version = real
            assert not wrong, f"{way}: {wrong}"
            found[way] = time.monotonic() - began
    finally:
        os.environ.pop("CUDA_VISIBLE_DEVICES")
        if asked is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = asked
    return found


def busy(place: Place) -> dict:
    """A rank that computes for longer than the deadline, then joins: on a GPU the others wait, and nobody is stuck.

    The collectives are enqueued at once, behind the computing, on all ranks alike; so is a barrier, which blocks in C++.
    """
    with place.new(timeout=1.0) as ranks:
        assert ranks.run(computes, 2.5) == [4.0 * place.nranks] * place.nranks
    return {}


def computes(seconds: float) -> float:
    """Inside ranks: keeps the GPU (on a CPU: this thread) busy that long, then reduces."""
    x = torch.ones(4)
    if x.is_cuda:
        torch.cuda._sleep(int(seconds * cycles_a_second()))
    else:
        time.sleep(seconds)
    dist.all_reduce(x)
    dist.barrier()
    return x.sum().item()


def handles(place: Place) -> dict:
    """Handles waited for in another order, never waited for, and on a side stream."""
    with place.ranks() as ranks:
        assert ranks.run(several) == [[4.0 * place.nranks * k for k in (1, 2, 3)]] * place.nranks
    return {}


def several() -> list[float]:
    """Inside ranks: three collectives under way at once."""
    xs = [torch.full((4,), float(k)) for k in (1, 2, 3)]
    first, second = (dist.all_reduce(x, async_op=True) for x in xs[:2])
    second.wait()
    first.wait()
    if xs[0].is_cuda:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            dist.all_reduce(xs[2])
        torch.cuda.current_stream().wait_stream(side)
    else:
        dist.all_reduce(xs[2])
    dist.all_reduce(torch.ones(4), async_op=True)  # nobody waits: the end of the call does
    return [x.sum().item() for x in xs]


def groups(place: Place) -> dict:
    """A group of all ranks but the last, made where `device_id` has bound the default group: torch splits the communicator for it."""
    with place.ranks() as ranks:
        members = max(1, place.nranks - 1)
        assert ranks.run(in_a_group) == [4.0 * members] * members + [4.0] * (place.nranks - members)
    return {"members": members}


def in_a_group() -> float:
    """Inside ranks: members add ones up; the last rank only takes part in making the group."""
    nranks = dist.get_world_size()
    group, x = dist.new_group(range(max(1, nranks - 1))), torch.ones(4)
    if dist.get_rank() < max(1, nranks - 1):
        dist.all_reduce(x, group=group)
    return x.sum().item()


def graphs(place: Place) -> dict:
    """A collective captured into a CUDA graph, and replayed: nobody's look at a stream spoils the capture."""
    with place.ranks() as ranks:
        assert ranks.run(captured) == [[place.nranks, place.nranks**2, place.nranks**3]] * place.nranks
    return {}


def captured() -> list[float]:
    """Inside ranks on GPUs: an all_reduce of ones in place, replayed three times."""
    x, found = torch.ones(4), []
    dist.all_reduce(torch.ones(4))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        dist.all_reduce(x)
    for _ in range(3):
        graph.replay()
        found.append(x[0].item())
    return found


def nothing_left(place: Place) -> dict:
    """After all that: no file of NCCL's in shared memory, and no GPU memory held by this process."""
    kept.close()
    left = nccl_files() - set(place.before)
    assert not left, f"left in /dev/shm: {sorted(left)}"
    assert os.getpid() not in on_gpus() and not torch.cuda.is_initialized(), "the parent itself started CUDA"
    return {"deadline": TIMEOUT}
