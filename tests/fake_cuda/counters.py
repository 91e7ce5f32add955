"""What each GPU's allocator holds: our own model of torch's, and its history, from which a snapshot is made."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from dataclasses import replace

from . import machine, state


class Gpu:
    """Of one GPU. requested: bytes asked for and not given back; history: (kind, block, bytes, time), None while none is kept."""

    def __init__(self):
        from helpers.memory.allocator import Allocator, Rules

        expandable = "expandable_segments:True" in os.environ.get("PYTORCH_ALLOC_CONF", "")
        self.books = Allocator(Rules(expandable=expandable, limit=machine.memory()))
        self.requested = self.highest_requested = self.highest = self.highest_reserved = 0
        self.allocs = self.frees = self.ooms = 0
        self.alive: dict[int, tuple[int, int]] = {}  # storage -> (number of the block, its bytes)
        self.history: list[tuple[str, int, int, float]] | None = None

    def note(self, kind: str, block: int = -1, nbytes: int = 0) -> None:
        if kind != "mark" and not nbytes:  # torch's allocator is not asked for it
            return
        self.allocs += kind == "alloc"
        self.frees += kind == "free"
        if self.history is not None:
            self.history.append((kind, block, nbytes, time.perf_counter()))
        self.highest_requested = max(self.highest_requested, self.requested)
        self.highest = max(self.highest, self.books.allocated)
        self.highest_reserved = max(self.highest_reserved, self.books.reserved)


_gpus: dict[int, Gpu] = defaultdict(Gpu)
_blocks = 0


def alloc(device: int, key: int, nbytes: int) -> None:
    global _blocks
    from helpers.memory.allocator import OutOfMemory

    gpu, block = _gpus[device], _blocks
    try:
        gpu.books.malloc(block, nbytes)
    except OutOfMemory as error:
        from torch import OutOfMemoryError

        gpu.ooms += 1
        gpu.note("mark")  # it had emptied its cache before it gave up
        raise OutOfMemoryError(f"{error} GPU {device} has too little.") from None
    _blocks += 1
    gpu.alive[key] = block, nbytes
    gpu.requested += nbytes
    gpu.note("alloc", block, nbytes)


def free(device: int, key: int) -> None:
    gpu = _gpus[device]
    if key not in gpu.alive:  # it never had memory
        return
    block, nbytes = gpu.alive.pop(key)
    gpu.books.free(block)
    gpu.requested -= nbytes
    gpu.note("free", block, nbytes)


def _of(device: object) -> Gpu:
    return _gpus[state.current() if device is None else state.index(device)]


def memory_stats(device: object = None) -> dict[str, int]:
    """As many of torch's names as anybody here asks for."""
    gpu = _of(device)
    return {
        "requested_bytes.all.current": gpu.requested,
        "requested_bytes.all.peak": gpu.highest_requested,
        "allocated_bytes.all.current": gpu.books.allocated,
        "allocated_bytes.all.peak": gpu.highest,
        "reserved_bytes.all.current": gpu.books.reserved,
        "reserved_bytes.all.peak": gpu.highest_reserved,
        "allocation.all.allocated": gpu.allocs,
        "allocation.all.freed": gpu.frees,
        "num_alloc_retries": gpu.books.retries,
        "num_ooms": gpu.ooms,
    }


def reset_peak(device: object = None) -> None:
    gpu = _of(device)
    gpu.highest_requested, gpu.highest, gpu.highest_reserved = gpu.requested, gpu.books.allocated, gpu.books.reserved


def empty_cache() -> None:
    for gpu in _gpus.values():
        gpu.books.empty_cache()
        gpu.note("mark")


def mem_get_info(device: object = None) -> tuple[int, int]:
    return machine.memory() - _of(device).books.reserved, machine.memory()


def allow(fraction: float, device: object = None) -> None:
    """torch.cuda.set_per_process_memory_fraction."""
    books = _of(device).books
    books.rules = replace(books.rules, allowed=int(fraction * machine.memory()))


def record_history(enabled: str | None = "all", *_: object, **__: object) -> None:
    """torch.cuda.memory._record_memory_history."""
    for gpu in map(_of, range(len(machine.visible()))):
        gpu.history = [] if enabled else None


def snapshot(device: object = None) -> dict:
    """torch.cuda.memory._snapshot of one GPU. Nothing may be there yet when the history begins: it is made of that alone."""
    from helpers.memory import Event, Trace
    from helpers.memory.allocator import replay
    from helpers.memory.allocator.replay import EMPTY_CACHE
    from helpers.memory.snapshot import snapshot_of

    gpu = _of(device)
    made = {block for kind, block, *_ in gpu.history or () if kind == "alloc"}
    events = tuple(
        Event(kind, block, nbytes, "temporary", "", "", EMPTY_CACHE if kind == "mark" else "", at)
        for kind, block, nbytes, at in gpu.history or ()
        if kind != "free" or block in made
    )
    rules = gpu.books.rules
    trace = Trace(events, "tracked (CUDA tensors)")
    return snapshot_of(replay(trace, rules.expandable, rules.limit, allowed=rules.allowed))


def segments(device: object = None) -> list[dict]:
    """torch.cuda.memory_snapshot."""
    from helpers.memory.allocator.state import segments as folded
    from helpers.memory.snapshot.writing import segment_data

    return [segment_data(segment, state.current()) for segment in folded(_of(device).books.actions, {})]
