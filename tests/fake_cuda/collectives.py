"""NCCL, played over Gloo: a call returns when it is enqueued, a thread carries it out, and the stream waits for it.

A call whose stream is through goes to Gloo at once, from the thread that made it; then, and where a stream is behind, a thread carries
it on, one thing after the other in the order of the calls, as a communicator does; messages of a batch go together. What
fails there never ends and tells nobody, like NCCL's kernels: only a stream that stands still shows it.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable
from functools import wraps

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from . import graphs, nccl_log, state, streams, tensors

COLLECTIVES = (
    *("allreduce", "broadcast", "reduce", "allgather", "_allgather_base", "all_gather_single", "gather", "scatter"),
    *("reduce_scatter", "_reduce_scatter_base", "reduce_scatter_single", "alltoall", "alltoall_base"),
    *("all_to_all_single", "barrier", "allreduce_coalesced", "send", "recv"),
)
SERIALIZED = "TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING"
WARNING = (
    "[W ProcessGroupNCCL.cpp] Warning: An unbatched P2P op (send/recv) was called on this ProcessGroup with size 2.\n"
)

_jobs: queue.SimpleQueue = queue.SimpleQueue()
_behind: list[object] = []  # not begun: their stream has not come so far
_batch: list[Callable[[], dist.Work]] | None = None
_on = _eager = _warned = False


class Work(dist.Work):
    """A handle. Its wait makes the current stream wait, and the host only for a barrier."""

    def __init__(self, blocking: bool = False):
        super().__init__()
        self.done, self.blocking = threading.Event(), blocking

    def is_completed(self) -> bool:
        return self.done.is_set()

    def is_success(self) -> bool:
        return self.done.is_set()

    def held_up(self) -> bool:
        """torch's wait."""
        streams.current_stream().submit(self.done.wait)
        if self.blocking:
            streams.current_stream().drain()
        return True


def _enqueue(starts: list[Callable[[], dist.Work]], work: Work) -> None:
    """Carried out when the current stream has come so far."""
    if graphs.capturing():
        graphs.note(lambda: _again(starts), state.current())
        return work.done.set()
    reached, job = streams.current_stream().record_event().reached(), Job(starts, work)
    if reached.is_set() and not _behind:
        job.start()
    else:
        _behind.append(job)
    _jobs.put((reached, job))
    return None


class Job:
    """Calls of one handle. started: what they answered; None where a peer has died: NCCL's kernel goes on waiting for it."""

    def __init__(self, starts: list[Callable[[], dist.Work]], work: Work):
        self.starts, self.work = starts, work
        self.started: list[dist.Work] | None = []
        self.begun = False

    def start(self) -> None:
        self.begun = True
        try:
            self.started = [start() for start in self.starts]
        except RuntimeError:
            self.started = None

    def carry_out(self) -> None:
        if not self.begun:
            self.start()
            _behind.remove(self)
        try:
            for each in self.started or [None]:
                each.wait() if isinstance(each, Averaged) else _real_wait(each)
        except (RuntimeError, TypeError):
            threading.Event().wait()
        self.starts, self.started = [], []  # their tensors are the caller's again
        self.work.done.set()


class Averaged:
    """Gloo averages nothing: it adds, and the quotient is taken here, towards zero for whole numbers."""

    def __init__(self, work: dist.Work, outs: list[torch.Tensor], nranks: int):
        self.work, self.outs, self.nranks = work, outs, nranks

    def wait(self) -> None:
        _real_wait(self.work)
        for out in self.outs:
            out.div_(self.nranks, rounding_mode=None if out.is_floating_point() else "trunc")


def _again(starts: list[Callable[[], dist.Work]]) -> None:
    work = Work()
    _enqueue(starts, work)
    work.held_up()


def _noted_already() -> contextlib.AbstractContextManager:
    """Whoever called has taken a note of it; this thread's calls of operators are the same ones."""
    outermost = sys.modules.get("helpers.ranks.hooks.outermost")
    return outermost.unnoted() if outermost else contextlib.nullcontext()


def _carry_out() -> None:
    while True:
        reached, job = _jobs.get()
        reached.wait()
        with _noted_already():
            job.carry_out()
        del reached, job  # or its tensors live until the next call


def _enqueued(name: str, original: Callable) -> Callable:
    @wraps(original)
    def call(group, *args, **kwargs):
        global _warned
        if not _on:
            return original(group, *args, **kwargs)
        _check(args)
        nccl_log.chosen(name, args, state.current())
        if name in ("send", "recv") and _batch is None and _eager and not _warned and os.environ.get(SERIALIZED) != "0":
            _warned = True
            os.write(2, WARNING.encode())
        starts, work = _starts(original, group, args, kwargs), Work(name == "barrier")
        if _batch is not None:
            _batch.append(starts)
            return work
        _enqueue([starts], work)
        if not _asynchronous(args) and name not in ("send", "recv"):
            work.held_up()
        return work

    return call


def _asynchronous(args: tuple) -> bool:
    return getattr(args[-1] if args else None, "asyncOp", True)


def _starts(original: Callable, group, args: tuple, kwargs: dict) -> Callable[[], dist.Work]:
    opts = args[-1] if args else None
    if getattr(opts, "reduceOp", None) != dist.ReduceOp.AVG:
        return lambda: original(group, *args, **kwargs)
    opts.reduceOp = dist.ReduceOp.SUM

    return lambda: Averaged(original(group, *args, **kwargs), list(tensors._tensors(args[:1])), group.size())


def _check(args: tuple) -> None:
    for tensor in tensors._tensors(args):
        if tensors.device_of(tensor) is None:
            raise RuntimeError("No backend type associated with device type cpu")
        if not tensor.is_contiguous():
            raise ValueError("Tensors must be contiguous")


def _start_coalescing(group, device) -> None:
    global _batch
    _batch = []


def _end_coalescing(group, device=None) -> Work:
    global _batch
    starts, _batch, work = _batch, None, Work()
    _enqueue(starts, work)
    return work


def _init(original: Callable) -> Callable:
    @wraps(original)
    def init_process_group(backend=None, *args, device_id=None, **kwargs):
        global _on, _eager
        if backend != "nccl":
            return original(backend, *args, device_id=device_id, **kwargs)
        state.start()
        original("gloo", *args, **kwargs)
        torch._C._distributed_c10d.Backend.supports_coalescing = property(lambda self: True)
        _on, _eager = True, device_id is not None
        nccl_log.begin(state.current())
        streams.by_the_clock()
        threading.Thread(target=_carry_out, name="fake-nccl", daemon=True).start()
        return None

    return init_process_group


_real_wait = dist.Work.wait


def install() -> None:
    """In every process that has torch; only a group of NCCL's differs then."""
    real_backend, real_wait = c10d.get_backend, _real_wait
    for name in COLLECTIVES:
        if original := getattr(dist.ProcessGroup, name, None):
            setattr(dist.ProcessGroup, name, _enqueued(name, original))
    dist.ProcessGroup._start_coalescing, dist.ProcessGroup._end_coalescing = _start_coalescing, _end_coalescing
    dist.Work.wait = lambda work, *args: work.held_up() if isinstance(work, Work) else real_wait(work, *args)
    c10d.init_process_group = dist.init_process_group = _init(c10d.init_process_group)
    c10d.get_backend = dist.get_backend = lambda group=None: "nccl" if _on else real_backend(group)
    c10d._get_object_coll_device = lambda group=None: torch.device("cuda", state.current()).type if _on else "cpu"
