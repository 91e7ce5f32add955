"""NCCL's three protocols: what a line on the wire holds, and how a connection's buffer is cut.

Every connection between two ranks has one buffer a protocol, a ring of eight slots. Simple fills slots and moves a counter behind
fences; LL and LL128 put a flag beside the data, so the receiver sees from the line itself that it is there.
Sources: NCCL 2.30.7, src/include/device.h (lines, threads, buffers), src/init.cc (computeBuffSizes), src/include/collectives.h
(steps), src/include/comm.h (thresholds). The same in all versions of helpers.nccl.releases. Chapter: inside-nccl.
"""

from __future__ import annotations

from dataclasses import dataclass

SLOTS = 8  # NCCL_STEPS


@dataclass(frozen=True)
class Protocol:
    """Bytes, unless said otherwise.

    line: what is stored at once, data and flags; None where there is no flag. data: of these, the reader's own bytes.
    buffer: of one connection, by default. threads: of a channel's block, at most. threshold: bytes for each thread, below which
    NCCL takes fewer channels. grain: a chunk is a multiple of it. chunk_slots, slice_slots: how many slots a chunk of the ring
    (all_reduce, all_gather, reduce_scatter) takes, and a slice, after which the receiver is told.
    """

    name: str
    line: int | None
    data: int | None
    buffer: int
    threads: int
    threshold: int
    grain: int
    chunk_slots: int = 1
    slice_slots: int = 1

    @property
    def efficiency(self) -> float:
        """The share of the bytes on the wire that is data."""
        return 1.0 if self.line is None or self.data is None else self.data / self.line

    @property
    def slot(self) -> int:
        """One of the eight slots of a buffer, flags included."""
        return self.buffer // SLOTS

    @property
    def slot_data(self) -> int:
        """The data that one slot holds."""
        return int(self.slot * self.efficiency)

    @property
    def chunk(self) -> int:
        """The data of the largest chunk that a ring sends in one step of its schedule, on one channel."""
        return self.slot_data * self.chunk_slots

    @property
    def slice(self) -> int:
        """The part of a chunk after which the receiver may go on."""
        return self.slot_data * self.slice_slots

    def __str__(self) -> str:
        return self.name


LL = Protocol("LL", line=16, data=8, buffer=8 * 512 * SLOTS * 16, threads=512, threshold=8, grain=16)
LL128 = Protocol("LL128", line=128, data=120, buffer=120 * 640 * SLOTS * 8, threads=640, threshold=8, grain=1920)
SIMPLE = Protocol(
    "Simple", None, None, buffer=4 * 2**20, threads=512, threshold=64, grain=512, chunk_slots=4, slice_slots=2
)
PROTOCOLS = {protocol.name: protocol for protocol in (LL, LL128, SIMPLE)}
LEAST_SLICE = SIMPLE.slice // 32  # a smaller chunk of Simple is not cut in two (src/device/prims_simple.h)
