"""torch's own allocator on this GPU: what it says of itself, what it did, and any trace played on it. Chapters: allocator, too-big."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import torch

from helpers.memory import Trace
from helpers.memory.allocator import Fragmentation, replay
from helpers.memory.allocator.replay import EMPTY_CACHE
from helpers.memory.snapshot import Comparison, Snapshot, compare, read
from helpers.units import MIB

from .device import needs_gpus

T = TypeVar("T")
HISTORY = 1_000_000  # entries that torch keeps; a step has a few thousand


class AllocatorCounts(NamedTuple):
    """What torch's allocator says of one GPU.

    free: Fragmentation of its segments now; segments: how many. peak_allocated, peak_reserved: the most bytes since these peaks were
    reset. retries: how often this process gave back its cache and asked the driver again; ooms: how often that did not help.
    """

    free: Fragmentation
    segments: int
    peak_allocated: int
    peak_reserved: int
    retries: int
    ooms: int

    def since(self, before: AllocatorCounts) -> AllocatorCounts:
        """The same with the retries and ooms that came after `before`."""
        return self._replace(retries=self.retries - before.retries, ooms=self.ooms - before.ooms)

    def data(self) -> dict[str, int | float]:
        """Plain data for a trace's `about`."""
        return self.free._asdict() | {k: v for k, v in self._asdict().items() if k != "free"}

    def __str__(self) -> str:
        now, m = self.free, MIB
        return (
            f"at most {self.peak_allocated / m:,.1f} MiB in blocks, {self.peak_reserved / m:,.1f} reserved;"
            f" retries so far: {self.retries}, out of memory: {self.ooms}\n"
            f"now {now.allocated / m:,.1f} MiB in blocks, {now.reserved / m:,.1f} reserved in {self.segments} segments;"
            f" {now.cached / m:,.1f} free, the largest block {now.largest / m:,.1f}, {now.stuck / m:,.1f} between tensors"
        )

    __repr__ = __str__


def allocator_counts() -> AllocatorCounts:
    """torch.cuda.memory_stats and memory_snapshot of this process' GPU, in words. RuntimeError where there is none."""
    needs_gpus(1, "what torch's allocator counts")
    stats, segments = (
        torch.cuda.memory_stats(),
        read(torch.cuda.memory_snapshot()).segments(torch.cuda.current_device()),
    )
    peaks = (stats[f"{what}_bytes.all.peak"] for what in ("allocated", "reserved"))
    return AllocatorCounts(
        Fragmentation.of(segments), len(segments), *peaks, stats["num_alloc_retries"], stats["num_ooms"]
    )


def peaks_anew() -> AllocatorCounts:
    """The peaks begin anew; what is counted then, for `since`."""
    torch.cuda.reset_peak_memory_stats()
    return allocator_counts()


def snapshot_after(call: Callable[[], T]) -> tuple[T, Snapshot]:
    """What `call` returns, and torch's snapshot then, with all that its allocator did meanwhile. RuntimeError where there is no GPU."""
    needs_gpus(1, "a snapshot of torch's allocator")
    torch.cuda.memory._record_memory_history("all", context=None, max_entries=HISTORY, clear_history=True)
    try:
        found = call()
        torch.cuda.synchronize()
        return found, read(torch.cuda.memory._snapshot())
    finally:
        torch.cuda.memory._record_memory_history(None)


def model_beside(snapshot: Snapshot) -> Comparison:
    """The model of the allocator, given all that the snapshot's allocator was asked, beside it, block by block."""
    grows = any(segment.expandable for segment in snapshot.segments())
    return compare(replay(snapshot.trace(emptied=True), grows, addresses=snapshot.addresses()), snapshot)


class Played(NamedTuple):
    """A trace as this GPU's allocator had it. events: how many were played; oom: torch's words where the next found no memory, or ""."""

    events: int
    oom: str
    counts: AllocatorCounts
    snapshot: Snapshot


def play(trace: Trace, limit: int | None = None) -> Played:
    """Ask this GPU's allocator for a trace's blocks, one after the other: tensors that nobody computes, so it takes a second.

    limit: bytes that it may reserve. A mark "empty_cache" empties the cache. RuntimeError without a GPU, or while other tensors of this
    process are on it.
    """
    needs_gpus(1, "to play a trace on torch's allocator")
    empty()
    before = peaks_anew()
    alive: dict[int, torch.Tensor] = {}
    with _limited(limit):
        (events, oom), snapshot = snapshot_after(lambda: _ask(trace, alive))
    now = allocator_counts().since(before)
    alive.clear()
    torch.cuda.empty_cache()
    return Played(events, oom, now, snapshot)


def empty() -> None:
    """Give back all that no tensor holds, CUDA libraries' workspaces, too. RuntimeError where tensors still hold memory."""
    gc.collect()
    getattr(torch._C, "_cuda_clearCublasWorkspaces", lambda: None)()
    torch.cuda.empty_cache()
    if held := torch.cuda.memory_reserved():
        raise RuntimeError(
            f"a trace is played on an empty allocator, and {held / MIB:,.1f} MiB are reserved for tensors of this process:"
            " drop them, or restart the kernel"
        )


def _ask(trace: Trace, alive: dict[int, torch.Tensor]) -> tuple[int, str]:
    """Events that were played, and torch's error. alive: the tensors by block."""
    for index, event in enumerate(trace.events):
        if event.kind == "alloc":
            try:
                alive[event.block] = torch.empty(event.nbytes, dtype=torch.uint8, device="cuda")
            except torch.OutOfMemoryError as error:
                return index, str(error)
        elif event.kind == "free":
            del alive[event.block]
        elif event.op == EMPTY_CACHE:
            torch.cuda.empty_cache()
    return len(trace), ""


@contextmanager
def _limited(limit: int | None) -> Iterator[None]:
    """The process may reserve `limit` bytes of the GPU's memory."""
    if limit is None:
        yield
        return
    total = torch.cuda.mem_get_info()[1]
    # Segments come in steps of 2 MiB: half a step more says the same, and no rounding of a share can say less.
    torch.cuda.set_per_process_memory_fraction(min(1.0, (limit + MIB) / total))
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
