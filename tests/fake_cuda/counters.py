"""Bytes on each GPU: asked for, in blocks of 512, at the highest moment; and the history, from which a snapshot is made."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from dataclasses import dataclass, field

from . import machine, state

BLOCK, SEGMENT = 512, 2 << 20


@dataclass
class Bytes:
    """Of one GPU."""

    requested: int = 0
    highest_requested: int = 0
    allocated: int = 0
    highest: int = 0
    allocs: int = 0
    frees: int = 0
    reserved: int = 0
    highest_reserved: int = 0
    alive: dict[int, tuple[int, int]] = field(default_factory=dict)  # storage -> (number of the block, its bytes)
    history: list[tuple[str, int, int, float]] | None = None


_gpus: dict[int, Bytes] = defaultdict(Bytes)
_blocks = 0


def _rounded(nbytes: int, unit: int) -> int:
    return -(-nbytes // unit) * unit


def alloc(device: int, key: int, nbytes: int) -> None:
    global _blocks
    gpu = _gpus[device]
    if gpu.allocated + nbytes > machine.MEMORY:
        from torch import OutOfMemoryError

        raise OutOfMemoryError(f"CUDA out of memory. Tried to allocate {nbytes} bytes. GPU {device} has too few.")
    gpu.alive[key] = _blocks, nbytes
    _blocks += 1
    gpu.requested += nbytes
    gpu.allocated += _rounded(nbytes, BLOCK)
    gpu.highest, gpu.highest_requested = max(gpu.highest, gpu.allocated), max(gpu.highest_requested, gpu.requested)
    gpu.reserved = max(gpu.reserved, _rounded(gpu.allocated, SEGMENT))
    gpu.highest_reserved = max(gpu.highest_reserved, gpu.reserved)
    _remember(gpu, "alloc", key)


def free(device: int, key: int) -> None:
    gpu = _gpus[device]
    _remember(gpu, "free", key)
    _, nbytes = gpu.alive.pop(key)
    gpu.requested -= nbytes
    gpu.allocated -= _rounded(nbytes, BLOCK)


def _remember(gpu: Bytes, kind: str, key: int) -> None:
    number, nbytes = gpu.alive[key]
    if not nbytes:  # torch's allocator is not asked for it
        return
    gpu.allocs += kind == "alloc"
    gpu.frees += kind == "free"
    if gpu.history is not None:
        gpu.history.append((kind, number, nbytes, time.perf_counter()))


def _of(device: object) -> Bytes:
    return _gpus[state.current() if device is None else state.index(device)]


def memory_stats(device: object = None) -> dict[str, int]:
    """As many of torch's names as anybody here asks for."""
    gpu = _of(device)
    return {
        "requested_bytes.all.current": gpu.requested,
        "requested_bytes.all.peak": gpu.highest_requested,
        "allocated_bytes.all.current": gpu.allocated,
        "allocated_bytes.all.peak": gpu.highest,
        "reserved_bytes.all.current": gpu.reserved,
        "reserved_bytes.all.peak": gpu.highest_reserved,
        "allocation.all.allocated": gpu.allocs,
        "allocation.all.freed": gpu.frees,
        "num_alloc_retries": 0,
        "num_ooms": 0,
    }


def reset_peak(device: object = None) -> None:
    gpu = _of(device)
    gpu.highest, gpu.highest_requested, gpu.highest_reserved = gpu.allocated, gpu.requested, gpu.reserved


def empty_cache() -> None:
    for gpu in _gpus.values():
        gpu.reserved = _rounded(gpu.allocated, SEGMENT)


def mem_get_info(device: object = None) -> tuple[int, int]:
    return machine.MEMORY - _of(device).reserved, machine.MEMORY


def record_history(enabled: str | None = "all", *_: object, **__: object) -> None:
    """torch.cuda.memory._record_memory_history. Nothing may be there yet when it begins: the snapshot is made of the history alone."""
    for gpu in map(_of, range(len(machine.visible()))):
        gpu.history = [] if enabled else None


def snapshot(device: object = None) -> dict:
    """torch.cuda.memory._snapshot, as our own model of the allocator has it."""
    from helpers.memory import Event, Trace
    from helpers.memory.allocator import replay
    from helpers.memory.snapshot import snapshot_of

    events = [
        Event(kind, block, nbytes, "temporary", "", "", "", at) for kind, block, nbytes, at in _of(device).history or ()
    ]
    expandable = "expandable_segments:True" in os.environ.get("PYTORCH_ALLOC_CONF", "")
    return snapshot_of(replay(Trace(tuple(events), "tracked (CUDA tensors)"), expandable=expandable))
