"""Seconds that a clock shows, for what NCCL chose: its formula with reasons put in where it is wrong.

1. A call costs a launch and a hop a step, both of the machine (helpers.nccl.launch). LL128's and Simple's hops are longer by
   NCCL's own constants (1.9 and 3.4 to 0.6); Simple starts 8.4 us later than LL, LL128 with it (by NCCL's bases 1.8 and 7.4 us).
2. The last receive and copy of a ring hide behind nothing: (nbytes / nranks) * (steps + tail) / bandwidth.
3. LL sends rows of 8 bytes a thread, so a channel has a rate, and short messages take few channels (helpers.nccl.cut).
4. NVLS is a pipeline of loops: two more than there are, to fill and to drain it, each a stage and its bytes, but never faster
   than 5/6 of what the heads carry (NCCL's rule up to 2.27).

Of |model / measured - 1| on the 2181 cells of 72 runs on five NVLink machines: median 4.7 %, p90 12.6 %, worst 34.5 %; NCCL's
formula 22, 38 and 58 %. On 71 of 72 runs it beats the line through the ends; all 32 jumps lie where NCCL changes its choice.
Fitted there: four numbers and LL's tail (fitted.toml tells what each becomes, and how far it is off, on a GPU generation left out).
Rings and NVLS on one node; our tables have no trees and one node each. Chapter: inside-nccl.
"""

from __future__ import annotations

from collections.abc import Mapping

from helpers.nccl.cut import block_count, cut
from helpers.nccl.fabric import Fabric, nvls, ring, wire
from helpers.nccl.launch import FITTED, Launch
from helpers.nccl.protocols import LL
from helpers.nccl.releases import BASE, HOP, NVLS_EFFICIENCY, PROTOCOL_ORDER, Release
from helpers.nccl.tuning import GATHERS, ring_steps

SHARED: Mapping[str, float] = {name: entry["value"] for name, entry in FITTED["shared"].items()}
COVERED = ("all_reduce", *GATHERS)
# Chunk times at the end of a ring that nothing hides. Simple tells its receiver after each half of a chunk, so the last half is
# received and copied alone, and LL128 behaves like it. LL waits for every line, and pays a whole chunk and a half (seen, not read).
TAIL = {"LL": 1.5, "LL128": 0.5, "Simple": 0.5}
LL_ROW = LL.threads * LL.data if LL.data else 0  # bytes


def corrected(
    collective: str,
    algorithm: str,
    protocol: str,
    nbytes: int,
    fabric: Fabric,
    release: Release,
    launch: Launch,
    shared: Mapping[str, float] = SHARED,
) -> float | None:
    """Seconds; None for what no table covers: rooted collectives, trees, several nodes, NVLS of other than all_reduce."""
    if fabric.nodes > 1 or collective not in COVERED:
        return None
    if algorithm == "Ring":
        return _ring(collective, protocol, nbytes, fabric, release, launch, shared)
    if algorithm == "NVLS" and collective == "all_reduce":
        return _nvls(nbytes, fabric, release, launch, shared)
    return None


def _ring(
    collective: str,
    protocol: str,
    nbytes: int,
    fabric: Fabric,
    release: Release,
    launch: Launch,
    shared: Mapping[str, float],
) -> float:
    steps, hops = ring_steps(collective, fabric.nranks), HOP["NVLink"]["Ring"]
    start = BASE["Ring"][PROTOCOL_ORDER.index("Simple")] * 1e-6 if protocol == "Simple" else 0.0
    tail = TAIL[protocol]
    wait = launch.hop * hops[PROTOCOL_ORDER.index(protocol)] / hops[0]
    data = nbytes / fabric.nranks * (steps + tail) / ring_rate(protocol, nbytes, fabric, release, shared)
    return launch.call + start + steps * wait + data


def ring_rate(
    protocol: str, nbytes: int, fabric: Fabric, release: Release, shared: Mapping[str, float] = SHARED
) -> float:
    """Bytes per second that one GPU passes on in a ring on one node, all channels together."""
    graph = ring(fabric, release)
    if protocol == "Simple":
        return graph.total * 1e9
    if protocol == "LL128":
        return min(0.92 * graph.total, graph.channels * release.ring_ll128[fabric.generation][0]) * 1e9
    rows = block_count("Ring", "LL", nbytes, fabric, release) * LL_ROW / shared["ll_row"]
    return min(rows, shared["ll_most"] * (release.ll_max or {})[fabric.generation] * 1e9)


def _nvls(nbytes: int, fabric: Fabric, release: Release, launch: Launch, shared: Mapping[str, float]) -> float | None:
    graph = nvls(fabric, release)
    if graph is None:
        return None
    pieces = cut("NVLS", "Simple", nbytes, fabric, release)
    rate = shared["nvls_rate"] * NVLS_EFFICIENCY[fabric.generation] * wire(fabric, release) * 1e9
    moved = min(nbytes, pieces.loop)
    slowest = moved / (graph.channels * graph.inside * 5 / 6 * 1e9)
    return launch.call + (pieces.loops + 2) * max(shared["nvls_stage"] + moved / rate, slowest)
