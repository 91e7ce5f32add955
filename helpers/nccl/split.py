"""How a thread block of a tree's all_reduce shares its threads out: some reduce on the way up while the others broadcast down.

Source: NCCL 2.30.7, src/device/all_reduce.h (runTreeSplit), src/enqueue.cc (a tree's block has all its threads). The split is
inside every block, so no multiprocessor is set aside for one of the two ways. Chapter: inside-nccl.
"""

from __future__ import annotations

from helpers.nccl.protocols import LL128, PROTOCOLS

WARP = 32
BLOCK = LL128.threads  # NCCL_MAX_NTHREADS: what a tree takes with any protocol


def tree_threads(protocol: str, threads: int = BLOCK) -> tuple[int, int]:
    """Threads of one block that reduce, and that broadcast, in a rank that is no root. ValueError for no protocol or no warps."""
    if protocol not in PROTOCOLS:
        raise ValueError(f"a protocol is one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    if threads < 2 * WARP or threads % WARP:
        raise ValueError(f"a block has {2 * WARP} threads or more, in warps of {WARP}, got {threads!r}")
    if protocol == "Simple":
        half = threads // 2
        up = half + 64 if half >= 256 else half
    else:  # three may send to it at once, and adding costs more than passing on: seven tenths, in whole warps
        up = threads * 7 // (10 * WARP) * WARP
    return up, threads - up
