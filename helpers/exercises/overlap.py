"""The exercises of the chapter `overlap`: exposed time on paper; handles waited for too early, and gathers ahead, on real ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.overlap import Bucket, overlap
from helpers.ranks import Ranks

from .answer import Answer, NotYetError, judge
from .on_ranks import on_ranks

DEADLINE = 10.0  # seconds in one collective
NRANKS = 2
NUMEL = 8  # of a gradient, and of a rank's shard
Event = tuple[str, int]


# exposed time -------------------------------------------------------------------------------------------------------
class Queue(NamedTuple):
    """A backward of `computed` ms, buckets as (ready in ms, MiB), and a link that takes alpha + MiB * beta ms for each."""

    computed: int
    buckets: tuple[tuple[int, int], ...]
    alpha: int
    beta: int

    def __str__(self) -> str:
        each = ", ".join(f"{mib} MiB ready at {ready}" for ready, mib in self.buckets)
        return f"{self.computed} ms of backward, {each}; a call takes {self.alpha} ms and {self.beta} ms a MiB"


QUEUES = (
    Queue(10, ((10, 4),), 1, 1),
    Queue(20, ((10, 4), (20, 4)), 1, 1),
    Queue(20, ((5, 8), (10, 9), (20, 4)), 2, 1),
    Queue(30, ((4, 6), (6, 6), (8, 6), (30, 1)), 0, 1),
    Queue(30, ((2, 9), (20, 3), (22, 3), (30, 5)), 3, 2),
)


def exposed_time(answer: Callable[[float, Sequence[Bucket], Callable[[int], float]], float]) -> Answer:
    """answer(computed, buckets, seconds_of) -> by how much the step is longer than `computed`, in the same unit.

    A bucket has `ready` and `nbytes`; they come in the order of `ready`. The link takes seconds_of(nbytes) for each, one at a time.
    """
    praise = "What shows is what is left on the link when backward ends, whatever came before."
    return judge(QUEUES, lambda queue: _exposed(answer, queue), praise)


def _exposed(answer: Callable, queue: Queue) -> None:
    buckets = [Bucket(ready, mib) for ready, mib in queue.buckets]

    def seconds_of(mib: int) -> float:
        return queue.alpha + queue.beta * mib

    want, got = overlap(queue.computed, buckets, seconds_of).exposed, answer(queue.computed, buckets, seconds_of)
    if got == want:
        return
    each = [seconds_of(bucket.nbytes) for bucket in buckets]
    hint = "follow the link: each call begins when its bucket is ready and the call before has ended."
    if got == sum(each):
        hint = "that is all of the communication, as if none of it ran beside backward."
    elif got == max(0, sum(each) - queue.computed):
        hint = "communication that is shorter than backward can show all the same: nobody can send a bucket before it is ready."
    elif got == each[-1]:
        hint = "the last bucket may have to wait, because the link is still busy."
    raise NotYetError(f"{queue}: {want:g} ms show, you said {got!r}. Hint: {hint}")


# what is sent and waited for, and when ------------------------------------------------------------------------------
class Handle:
    """What an asynchronous call returns; its waits are written down."""

    def __init__(self, log: list[Event], number: int, work: dist.Work, result: Tensor):
        self.log, self.number, self.work, self.result = log, number, work, result

    def wait(self) -> Tensor:
        """What the call has made."""
        self.log.append(("wait", self.number))
        self.work.wait()
        return self.result


def late_waits(answer: Callable[[Callable, Callable, int], list], ranks: Ranks | None = None) -> Answer:
    """answer(compute, send, n) runs on every rank: compute(k) is a layer's backward, in the order 0 to n - 1, and returns a gradient.

    send(gradient) starts to sum it up over all ranks and returns a handle; handle.wait() returns the sum. Returns the n sums. Each
    gradient has to leave before the next layer computes, and nothing may be waited for while layers are left to compute.
    """
    praise = "Every gradient travels beside the layers that are left, and all are there before anybody reads them."
    return judge((1, 2, 5), lambda n: _late(answer, n, ranks), praise)


def _late(answer: Callable, n: int, ranks: Ranks | None) -> None:
    found = on_ranks(ranks or NRANKS, _try_late, answer, n, deadline=DEADLINE)
    for rank, (log, got) in enumerate(found):
        where = f"{n} layers, rank {rank}"
        _in_order(where, log, n)
        done = log.index(("compute", n - 1))
        for k in range(n):
            if ("send", k) not in log:
                raise NotYetError(f"{where}: gradient {k} is never sent.")
            if k + 1 < n and log.index(("send", k)) > log.index(("compute", k + 1)):
                raise NotYetError(f"{where}: layer {k + 1} computes before gradient {k} has left. Hint: send at once.")
            if ("wait", k) not in log:
                raise NotYetError(
                    f"{where}: nobody waits for gradient {k}. Hint: until then the sum need not be there."
                )
            if log.index(("wait", k)) < done:
                raise NotYetError(
                    f"{where}: waits for gradient {k} while layers are left to compute. Hint: what can be done meanwhile?"
                )
        want = [[sum(r + k + 1.0 for r in range(len(found)))] * NUMEL for k in range(n)]
        if got != want:
            raise NotYetError(f"{where}: the sums are not those of all ranks, in the order of the layers.")


def _in_order(where: str, log: Sequence[Event], n: int) -> None:
    computed = [k for what, k in log if what == "compute"]
    if computed != list(range(n)):
        raise NotYetError(f"{where}: computes {computed}, not each of 0 to {n - 1} once and in order.")


def _try_late(answer: Callable, n: int) -> tuple[list[Event], object]:
    """In a rank: what happened in which order, and what the answer returns."""
    log: list[Event] = []
    sent = iter(range(n + 1))

    def compute(k: int) -> Tensor:
        log.append(("compute", k))
        return torch.full((NUMEL,), dist.get_rank() + k + 1.0)

    def send(gradient: Tensor) -> Handle:
        number = next(sent)
        log.append(("send", number))
        return Handle(log, number, dist.all_reduce(gradient, async_op=True), gradient)

    return log, _plain(answer(compute, send, n))


# gathers ahead ------------------------------------------------------------------------------------------------------
def gathers_ahead(answer: Callable[[Callable, Callable, int, int], list], ranks: Ranks | None = None) -> Answer:
    """answer(gather, compute, n, ahead) runs on every rank: gather(k) starts to gather unit k, and handle.wait() returns it whole.

    compute(k, whole) computes unit k, drops it, and returns a result; the n results are returned. When unit k computes, the next
    `ahead` units have to be on their way, and never more than ahead + 1 are held. A unit is waited for right before it computes.
    """
    praise = "As many units ahead as were asked for, and no more of them held."
    return judge(((1, 0), (3, 0), (3, 1), (5, 2), (2, 4)), lambda case: _ahead(answer, *case, ranks), praise)


def _ahead(answer: Callable, n: int, ahead: int, ranks: Ranks | None) -> None:
    found = on_ranks(ranks or NRANKS, _try_ahead, answer, n, ahead, deadline=DEADLINE)
    for rank, (log, got) in enumerate(found):
        where = f"{n} units, {ahead} ahead, rank {rank}"
        _in_order(where, log, n)
        _held(where, log, n, ahead)
        want = [sum(10.0 * k + r for r in range(len(found))) * NUMEL for k in range(n)]
        if got != want:
            raise NotYetError(f"{where}: returns {got!r}, not what compute returned for each unit.")


def _held(where: str, log: Sequence[Event], n: int, ahead: int) -> None:
    asked = done = 0
    for place, (what, k) in enumerate(log):
        asked += what == "gather"
        if asked - done > ahead + 1:
            raise NotYetError(
                f"{where}: holds {asked - done} units when it asks for unit {k}, {ahead + 1} are allowed."
            )
        if what == "wait" and k > done:
            raise NotYetError(f"{where}: waits for unit {k} before unit {done} has computed.")
        if what == "compute":
            if ("wait", k) not in log[:place]:
                raise NotYetError(f"{where}: unit {k} computes, and nobody has waited for it.")
            if asked < min(k + 1 + ahead, n):
                raise NotYetError(
                    f"{where}: when unit {k} computes {asked} units were asked for. Hint: ask before you compute."
                )
            done += 1


def _try_ahead(answer: Callable, n: int, ahead: int) -> tuple[list[Event], object]:
    """In a rank: what happened in which order, and what the answer returns."""
    log: list[Event] = []

    def gather(k: int) -> Handle:
        log.append(("gather", k))
        shard = torch.full((NUMEL,), 10.0 * k + dist.get_rank())
        whole = torch.empty(NUMEL * dist.get_world_size())
        work = dist.all_gather(list(whole.chunk(dist.get_world_size())), shard, async_op=True)
        return Handle(log, k, work, whole)

    def compute(k: int, whole: Tensor) -> float:
        log.append(("compute", k))
        return whole.sum().item()

    return log, answer(gather, compute, n, ahead)


def _plain(got: object) -> object:
    return [one.tolist() if isinstance(one, Tensor) else one for one in got] if isinstance(got, list) else got
