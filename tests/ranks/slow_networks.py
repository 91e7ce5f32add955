"""What the tests of the link emulator run on ranks. Without pytest, so that a rank imports it in no time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from unittest import mock

import torch
import torch.distributed as dist

from helpers.collectives import Schedule
from helpers.facts import Link
from helpers.ranks import bench, execute
from helpers.ranks.network.ports import Ports
from helpers.units import Bandwidth


def link(milliseconds: float, megabytes: float) -> Link:
    """alpha in ms, bandwidth in MB/s."""
    return Link(milliseconds / 1e3, Bandwidth(megabytes * 1e6, "one way", "GPU", "fitted"))


class TwoNodes:
    """Ranks 0 and 1 in one node, 2 and 3 in another, with a slower link between the nodes."""

    def __init__(self, inside: Link, between: Link):
        self.inside, self.between = inside, between

    def link(self, src: int, dst: int) -> Link:
        return self.inside if src // 2 == dst // 2 else self.between


def played(s: Schedule, sizes: list[int], reps: int = 15) -> list[float]:
    """Seconds (the least) of the schedule at every size in bytes."""
    buffers = [torch.zeros(nbytes // 4) for nbytes in sizes]
    return [bench(execute, s, x, x, warmup=1, reps=reps).min for x in buffers]


def calls(nbytes: int, group: dist.ProcessGroup | None = None) -> dict[str, tuple[str, Callable[[], object]]]:
    """Every function of torch's that is played: the collective that it is, and a call in which `nbytes` is nccl-tests' size."""
    rank, nranks = dist.get_rank(group), dist.get_world_size(group)
    whole, part = torch.ones(nbytes // 4), torch.ones(nbytes // 4 // nranks)
    wholes, parts = whole.clone(), [part.clone() for _ in range(nranks)]
    at_root = dict.fromkeys(("gather_list", "scatter_list"), parts if rank == 0 else None)
    gathers, scatters, swap = dist.all_gather_into_tensor, dist.reduce_scatter_tensor, dist.all_to_all
    of, first = {"group": group}, dist.get_process_group_ranks(group or dist.group.WORLD)[0]
    return {
        "all_reduce": ("all_reduce", lambda: dist.all_reduce(whole, **of)),
        "reduce": ("reduce", lambda: dist.reduce(whole, first, **of)),
        "broadcast": ("broadcast", lambda: dist.broadcast(whole, first, **of)),
        "all_gather": ("all_gather", lambda: dist.all_gather(parts, part, **of)),
        "all_gather_into_tensor": ("all_gather", lambda: gathers(whole, part, **of)),
        "reduce_scatter": ("reduce_scatter", lambda: dist.reduce_scatter(part, parts, **of)),
        "reduce_scatter_tensor": ("reduce_scatter", lambda: scatters(part, whole, **of)),
        "gather": ("gather", lambda: dist.gather(part, at_root["gather_list"], first, **of)),
        "scatter": ("scatter", lambda: dist.scatter(part, at_root["scatter_list"], first, **of)),
        "all_to_all_single": ("all_to_all", lambda: dist.all_to_all_single(wholes, whole, **of)),
        "all_to_all": ("all_to_all", lambda: swap(list(wholes.chunk(nranks)), list(whole.chunk(nranks)), **of)),
    }


def called(nbytes: int, reps: int = 9) -> dict[str, tuple[str, float]]:
    """Each of torch's functions: the collective that it is, and its seconds (the least)."""
    return {name: (kind, bench(call, warmup=1, reps=reps).min) for name, (kind, call) in calls(nbytes).items()}


def lists() -> tuple[list[list[float]], ...]:
    """What all_gather, gather, reduce_scatter, scatter and all_to_all leave in their lists, and in a 2-d tensor, from root 1."""
    rank, nranks = dist.get_rank(), dist.get_world_size()
    mine = torch.arange(6.0).view(2, 3) + 10 * rank
    gathered, at_root = [torch.zeros(2, 3) for _ in range(nranks)], [torch.zeros(2, 3) for _ in range(nranks)]
    dist.all_gather(gathered, mine)
    dist.gather(mine, at_root if rank == 1 else None, dst=1)
    summed, scattered, swapped = torch.zeros(2, 3), torch.zeros(2, 3), [torch.zeros(2, 3) for _ in range(nranks)]
    dist.reduce_scatter(summed, [mine + r for r in range(nranks)])
    dist.scatter(scattered, [mine + r for r in range(nranks)] if rank == 1 else None, group_src=1)
    dist.all_to_all(swapped, [mine + 100 * r for r in range(nranks)])
    stacked = torch.zeros(nranks * 2, 3)
    dist.all_gather_into_tensor(stacked, mine)
    weight = torch.nn.Parameter(torch.ones(3))
    dist.all_reduce(weight)
    flags = torch.tensor([rank + 1j])
    dist.broadcast(flags, src=1)
    tensors = [*gathered, *at_root, summed, scattered, *swapped, stacked, weight]
    return [t.flatten().tolist() for t in tensors], flags.tolist()


def seconds(fn: Callable[..., object], *args: object) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    fn(*args)
    return time.perf_counter() - start


def to_one(nbytes: int) -> float:
    """Every other rank sends to rank 0 at once."""
    ball = torch.zeros(nbytes, dtype=torch.uint8)

    def play() -> None:
        for peer in range(1, dist.get_world_size()) if dist.get_rank() == 0 else ():
            dist.recv(ball, peer)
        if dist.get_rank():
            dist.send(ball, 0)

    return bench(play, warmup=1, reps=15).min


def from_one(nbytes: int) -> float:
    """Rank 0 sends to every other rank at once."""
    ball = torch.zeros(nbytes, dtype=torch.uint8)

    def play() -> None:
        works = [dist.isend(ball, peer) for peer in range(1, dist.get_world_size())] if dist.get_rank() == 0 else ()
        for work in works:
            work.wait()
        if dist.get_rank():
            dist.recv(ball, 0)

    return bench(play, warmup=1, reps=15).min


def between(a: int, b: int, nbytes: int) -> float:
    """Ping-pong between ranks a and b, one way."""
    ball, rank = torch.zeros(nbytes, dtype=torch.uint8), dist.get_rank()

    def play() -> None:
        if rank == a:
            dist.send(ball, b), dist.recv(ball, b)
        elif rank == b:
            dist.recv(ball, a), dist.send(ball, a)

    return bench(play, warmup=1, reps=15).min / 2


def posted() -> dict[str, float]:
    """Ranks 0 and 1: what posting costs, what waiting costs, and what a message costs a receiver who comes late."""
    ball, rank, found = torch.zeros(4), dist.get_rank(), {}
    dist.barrier()
    if rank == 0:
        start = time.perf_counter()
        work = dist.isend(ball, 1)
        found["posted"] = time.perf_counter() - start
        work.wait()
        found["sent"] = time.perf_counter() - start
    if rank == 1:
        work = dist.irecv(ball, 0)
        time.sleep(0.5)
        found["late"] = seconds(work.wait)
        found["complete"] = work.is_completed()
    dist.barrier()
    return found


def orderly() -> dict[str, object]:
    """Ranks 0 and 1: tags out of order, a message from anyone, a short one, an empty one, other dtypes, a handle waited on twice."""
    rank, found = dist.get_rank(), {}
    if rank == 0:
        works = [dist.isend(torch.full((2,), float(tag)), 1, tag=tag) for tag in (1, 2, 3)]
        for work in works:
            work.wait()
        dist.send(torch.ones(2), 1)
        dist.send(torch.ones(0), 1)
        for dtype in (torch.bool, torch.bfloat16, torch.complex64, torch.int64):
            dist.send(torch.ones(3).to(dtype), 1)
        dist.send(torch.tensor(7.0), 1)
        dist.send_object_list([{"a": 1}], 1)
    if rank == 1:
        x = torch.zeros(2)
        found["tags"] = [(dist.recv(x, 0, tag=tag), x.tolist()) for tag in (3, 1, 2)]
        y = torch.zeros(4)
        work = dist.irecv(y)
        found["waits"] = work.wait(), work.wait(), y.tolist(), work._source_rank()
        found["empty"] = dist.recv(torch.ones(0))
        for dtype in (torch.bool, torch.bfloat16, torch.complex64, torch.int64):
            z = torch.zeros(3, dtype=dtype)
            dist.recv(z, 0)
            found[str(dtype)] = z.tolist()
        scalar = torch.tensor(0.0)
        dist.recv(scalar, 0)
        objects = [None]
        dist.recv_object_list(objects, 0)
        found["scalar"], found["objects"] = scalar.item(), objects
    dist.barrier()
    return found


def in_a_subgroup(nbytes: int) -> float:
    """Ranks 1 and 3 are ranks 0 and 1 of a group of their own, and play ping-pong there."""
    group, ball = dist.new_group([1, 3]), torch.zeros(nbytes, dtype=torch.uint8)
    me = dist.get_group_rank(group, dist.get_rank()) if dist.get_rank() in (1, 3) else None
    steps = ((dist.send, "group_dst"), (dist.recv, "group_src"))

    def play() -> None:
        for step, peer in (steps if me == 0 else steps[::-1]) if me is not None else ():
            step(ball, group=group, **{peer: 1 - me})

    return bench(play, warmup=1, reps=15).min / 2


def overlapped() -> dict[str, object]:
    """An asynchronous all_reduce, which rank 1 joins only when rank 0 has gone on from it; then two of them, and a third that waits."""
    rank, (x, y, z) = dist.get_rank(), (torch.full((4,), 1.0 + 2 * dist.get_rank()) for _ in range(3))
    if rank == 1:
        dist.recv(torch.zeros(1), 0)
    start = time.perf_counter()
    work = dist.all_reduce(x, async_op=True)
    found = {"complete": work.is_completed()}
    if rank == 0:
        dist.send(torch.zeros(1), 1)
    for _ in range(1000):  # nobody waits for it: it goes on by itself
        if not work.is_completed():
            time.sleep(0.01)
    found |= {"one": time.perf_counter() - start, "x": x.tolist()}
    dist.barrier()
    start = time.perf_counter()
    works = dist.all_reduce(y, async_op=True), dist.broadcast(y, 1, async_op=True)
    dist.all_reduce(z)
    found |= {"order": [work.is_completed() for work in works], "three": time.perf_counter() - start}
    return found | {"y": y.tolist(), "z": z.tolist()}


def booked(fn: Callable[..., object], *args: object) -> int:
    """Messages of one call that leave by this rank's port."""
    with mock.patch.object(Ports, "book", autospec=True, side_effect=Ports.book) as book:
        fn(*args)
    return book.call_count


def off_the_network() -> dict[str, int]:
    """Messages of what is not on the network, and of an all_reduce, which is."""
    objects, everyone = [None], [None] * dist.get_world_size()
    return {
        "barrier": booked(dist.barrier),
        "all_gather_object": booked(dist.all_gather_object, everyone, {"rank": dist.get_rank()}),
        "broadcast_object_list": booked(dist.broadcast_object_list, objects, 0),
        "all_reduce": booked(dist.all_reduce, torch.ones(2)),
    }


def idle() -> tuple[float, float]:
    """A wait for one message: (seconds, seconds of the processor in this thread)."""
    ball = torch.zeros(4)
    dist.barrier()
    wall, cpu = time.perf_counter(), time.thread_time()
    if dist.get_rank() == 0:
        dist.send(ball, 1)
    if dist.get_rank() == 1:
        dist.recv(ball, 0)
    taken = time.perf_counter() - wall, time.thread_time() - cpu
    dist.barrier()
    return taken


class Members:
    """Of a network, some ranks under the numbers that they have in a group of their own."""

    def __init__(self, network: object, members: Sequence[int]):
        self.network, self.members = network, members

    def link(self, src: int, dst: int) -> Link:
        return self.network.link(self.members[src], self.members[dst])


def in_groups(parts: list[list[int]], nbytes: int, names: Sequence[str], reps: int = 5) -> dict[str, float]:
    """Seconds (the least) of these of `calls` in the groups of `parts`, which cover all ranks; every group plays at the same time."""
    mine, _ = dist.new_subgroups_by_enumeration(parts)
    found = calls(nbytes, mine)
    return {name: bench(found[name][1], warmup=1, reps=reps).min for name in names}


def values_in_groups(parts: list[list[int]]) -> list[list[float]]:
    """What every function leaves, with roots that are not the first and every reduction; asynchronous calls in two groups at once."""
    rank = dist.get_rank()
    mine, _ = dist.new_subgroups_by_enumeration(parts)
    members = dist.get_process_group_ranks(mine)
    n, x = len(members), torch.arange(12.0) + 100 * rank
    found = []
    for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MAX, dist.ReduceOp.MIN, dist.ReduceOp.PRODUCT):
        y = x.clone() / 50
        dist.all_reduce(y, op, group=mine)
        found.append(y)
    y, z, parts_of = x.clone(), x.clone(), [torch.zeros(12) for _ in range(n)]
    dist.broadcast(y, members[-1], group=mine)
    dist.reduce(z, group_dst=n - 1, group=mine)
    dist.all_gather(parts_of, x, group=mine)
    found += [y, z if rank == members[-1] else x, *parts_of]
    at_root = [torch.zeros(12) for _ in range(n)] if rank == members[-1] else None
    dist.gather(x, at_root, dst=members[-1], group=mine)
    w = torch.zeros(12)
    dist.scatter(w, [x + k for k in range(n)] if rank == members[-1] else None, src=members[-1], group=mine)
    y, z = x.clone(), x.clone()
    works = [dist.all_reduce(t, group=g, async_op=True) for t, g in ((y, mine), (z, None), (w, mine))]
    for work in works:
        work.wait()
    return [t.tolist() for t in (*found, *(at_root or ()), y, z, w)]
