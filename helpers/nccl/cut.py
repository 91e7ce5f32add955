"""How one call is cut: over channels, then into loops of chunks.

Source: src/enqueue.cc (topoGetAlgoInfo: channels; calcCollChunking: chunks), src/device/all_reduce.h (loops). Chapter: inside-nccl.
"""

from __future__ import annotations

from dataclasses import dataclass

from helpers.nccl.fabric import Fabric, channels, nvls_blocks
from helpers.nccl.protocols import LEAST_SLICE, PROTOCOLS, SIMPLE
from helpers.nccl.releases import Release

NVLS_CHUNK = 128 * 1024
# Below so many loops of the chunk before, at most this chunk
NVLS_CHUNKS = ((64, 64 * 1024), (8, 32 * 1024), (2, 16 * 1024))


@dataclass(frozen=True)
class Cut:
    """channels: thread blocks that take part. chunk: bytes that one of them sends in a step. loop: bytes of nbytes that all of
    them move in one round. loops: rounds, the last one perhaps not full. slice: the part of a chunk that is told at once.
    """

    channels: int
    chunk: int
    slice: int
    loop: int
    loops: int


def cut(algorithm: str, protocol: str, nbytes: int, fabric: Fabric, release: Release) -> Cut:
    """How NCCL cuts nbytes for a ring, a tree or NVLS on one node; ValueError for what is not cut here."""
    if algorithm == "NVLS":
        return _nvls(nbytes, fabric, release)
    if algorithm not in ("Ring", "Tree"):
        raise ValueError(f"the cut of {algorithm} is not known here")
    blocks = block_count(algorithm, protocol, nbytes, fabric, release)
    kind, pieces = PROTOCOLS[protocol], fabric.nranks if algorithm == "Ring" else 1
    most = kind.chunk if algorithm == "Ring" else kind.slot_data
    chunk = max(1, min(most, -(-nbytes // (blocks * pieces))))
    loop = blocks * pieces * most
    return Cut(blocks, chunk, slice_nbytes(protocol, chunk), loop, max(1, -(-nbytes // loop)))


def block_count(algorithm: str, protocol: str, nbytes: int, fabric: Fabric, release: Release) -> int:
    """Channels of a ring or a tree: as many as have a threshold's bytes for each of their threads. LL's ring asks that of each rank."""
    kind = PROTOCOLS[protocol]
    threshold = kind.threshold * (fabric.nranks if (algorithm, protocol) == ("Ring", "LL") else 1)
    return max(1, min(channels(fabric, release), nbytes // (kind.threads * threshold)))


def slice_nbytes(protocol: str, chunk: int) -> int:
    """Simple tells the receiver after half a chunk, but not after less than 32 KiB; the others tell with every line."""
    return chunk if protocol != "Simple" else min(chunk, max(chunk // 2, LEAST_SLICE))


def _nvls(nbytes: int, fabric: Fabric, release: Release) -> Cut:
    """Each block moves one chunk for every head (GPU) in a loop; a short message takes shorter chunks."""
    blocks, chunk = nvls_blocks(fabric, release), min(NVLS_CHUNK, SIMPLE.chunk)
    wide = blocks * fabric.gpus
    for times, shorter in NVLS_CHUNKS:
        if nbytes < times * wide * chunk:
            chunk = min(chunk, shorter)
    return Cut(blocks, chunk, chunk, wide * chunk, max(1, -(-nbytes // (wide * chunk))))
