"""What torch says when a GPU has no room, of 1.13 to 2.15, on CUDA, ROCm and XPU: each number in bytes. Chapter: yours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from helpers.yours.words.said import Said, said

ASKED = re.compile(r"[Oo]ut of memory\.?[\s>]+Tried[\s>]+to[\s>]+allocate[\s>]")
_SIZE = r"(\d+(?:\.\d+)? (?:[KMGT]iB|bytes))"
_UNITS = {"bytes": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_FIELDS = {  # the words of torch up to 2.0 | those from 2.1 on ("capacty" is 2.1's; "cached" is 1.3's)
    "asked": rf"Tried to allocate {_SIZE}",
    "total": rf"{_SIZE} total capacity|total capaci?ty of {_SIZE}",
    "free": rf"{_SIZE} free;|of which {_SIZE} is free",
    "allocated": rf"{_SIZE} already allocated|Of the allocated memory {_SIZE} is allocated",
    "reserved": rf"{_SIZE} reserved in total",
    "unallocated": rf"{_SIZE} is reserved by PyTorch but unallocated|{_SIZE} cached\)",
    "pools": rf"with {_SIZE} allocated in private pools",
    "allowed": rf"{_SIZE} allowed;",
    "own": rf"this process has {_SIZE} memory in use",
}
_FOUND = {name: re.compile(pattern, re.IGNORECASE | re.ASCII) for name, pattern in _FIELDS.items()}
_GPU = re.compile(r"(?:GPU|XPU|NPU) (\d{1,4})", re.ASCII)
_PROCESS = re.compile(rf"Process (\d{{1,10}}) has {_SIZE} memory in use", re.ASCII)
_KNOB = re.compile(r"PYTORCH_(?:CUDA_|HIP_)?ALLOC_CONF")
_UNTOLD = 2**63  # NVML's word for "not available", printed as 17179869184.00 GiB


@dataclass(frozen=True)
class OutOfMemory:
    """One message, in bytes; None where it does not tell. at: where in the paste. rank: that says it. gpu: as its process counts them.

    others: (pid, bytes) of the processes that are named and not this one. own: all of this process, taken from the one process that can
    be it where the message, written in a container, does not say which that is (`guessed`). knob: the allocator's variable as this version
    calls it. old: up to 2.0, which has no expandable segments.
    """

    at: int
    rank: int | None
    gpu: int | None
    asked: int
    total: int | None
    free: int | None
    allocated: int | None
    unallocated: int | None
    pools: int | None
    allowed: int | None
    own: int | None
    others: tuple[tuple[int, int], ...]
    guessed: bool
    knob: str
    old: bool

    @property
    def whole(self) -> bool:
        """Whether all is there that the sum needs."""
        return None not in (self.total, self.free, self.allocated, self.unallocated)

    @property
    def reserved(self) -> int:
        """What PyTorch's allocator has taken from the card."""
        return (self.allocated or 0) + (self.unallocated or 0)

    @property
    def context(self) -> int | None:
        """This process's memory beside the allocator's: the CUDA context, kernels, NCCL, cuBLAS."""
        return None if self.own is None else max(0, self.own - self.reserved)

    @property
    def elsewhere(self) -> int:
        """What the named processes hold."""
        return sum(nbytes for _, nbytes in self.others)

    @property
    def unnamed(self) -> int:
        """The rest of the card, below 0 where the parts are more than the whole."""
        return (self.total or 0) - (self.free or 0) - max(self.own or 0, self.reserved) - self.elsewhere

    @property
    def short(self) -> int:
        """Bytes that were missing for this request."""
        return max(0, self.asked - (self.free or 0))


def out_of_memory(paste: str) -> Iterator[OutOfMemory]:
    """Every message, in the order in which they stand."""
    for one in said(paste, ASKED):
        if (asked := _FOUND["asked"].search(one.text)) is not None:
            yield _read(one, _nbytes(asked[1]))


def _read(one: Said, asked: int) -> OutOfMemory:
    told = {name: _first(pattern, one.text) for name, pattern in _FOUND.items()}
    gpu, knob = _GPU.search(one.text), _KNOB.search(one.text)
    allocated, unallocated = told["allocated"], told["unallocated"]
    if unallocated is None and allocated is not None and told["reserved"] is not None:
        unallocated = max(0, told["reserved"] - allocated)
    named = [(int(pid), _nbytes(size)) for pid, size in _PROCESS.findall(one.text)]
    named = [(pid, nbytes) for pid, nbytes in named if nbytes < _UNTOLD]
    own = told["own"] if (told["own"] or 0) < _UNTOLD else None
    mine = None if own is not None else _mine(named, (allocated or 0) + (unallocated or 0))
    return OutOfMemory(
        at=one.at,
        rank=one.rank,
        gpu=int(gpu[1]) if gpu else None,
        asked=asked,
        total=told["total"],
        free=told["free"],
        allocated=allocated,
        unallocated=unallocated,
        pools=told["pools"],
        allowed=told["allowed"],
        own=own if mine is None else mine[1],
        others=tuple(process for process in named if process is not mine),
        guessed=mine is not None,
        knob=knob[0] if knob else "PYTORCH_CUDA_ALLOC_CONF",
        old="total capacity;" in one.text,
    )


def _mine(named: list[tuple[int, int]], reserved: int) -> tuple[int, int] | None:
    """Of the processes that hold what this one's allocator has, the one with the least beside it."""
    large = [process for process in named if reserved and process[1] >= 0.99 * reserved]
    return min(large, key=lambda process: process[1], default=None)


def _first(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return None if found is None else _nbytes(next(size for size in found.groups() if size))


def _nbytes(size: str) -> int:
    """ "1.50 GiB" -> 1610612736."""
    number, unit = size.split()
    return round(float(number) * _UNITS[unit.lower()])
