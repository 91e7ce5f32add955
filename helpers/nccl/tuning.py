"""NCCL's own estimate of every algorithm and protocol, from which it chooses: time = latency + nbytes / bandwidth.

It is for ranking, not for wall clocks: half of 2181 published times are more than 22 % from it (helpers.nccl.corrected).
Source: src/graph/tuning.cc (ncclTopoTuneModel, ncclTopoGetAlgoTime), src/enqueue.cc (updateCollCostTable); the versions' rules
are in helpers.nccl.releases. CollNet is left out: it needs a switch that adds, and is off unless asked for. Chapter: inside-nccl.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from helpers.nccl.fabric import MOST_HEADS, Fabric, Graph, channels, nvls, ring, tree
from helpers.nccl.protocols import LL128
from helpers.nccl.releases import (
    BASE,
    HOP,
    LL_MAX_NETWORK,
    NVLS_LATENCY,
    PAT_PER_RANK,
    PROTOCOL_ORDER,
    TREE_FACTORS,
    Release,
)

GATHERS = ("all_gather", "reduce_scatter")
ROOTED = ("broadcast", "reduce")
COLLECTIVES = ("all_reduce", *GATHERS, *ROOTED)


@dataclass(frozen=True)
class Estimate:
    """One line of NCCL's table: seconds before the first byte, and bytes per second of nbytes."""

    algorithm: str
    protocol: str
    latency: float
    bandwidth: float

    def seconds(self, nbytes: int) -> float:
        """NCCL's raw formula."""
        return self.latency + nbytes / self.bandwidth


def ring_steps(collective: str, nranks: int) -> int:
    """Steps of a ring, as NCCL counts them; those of a rooted collective run through a pipeline."""
    return {"all_reduce": 2 * (nranks - 1), "all_gather": nranks - 1, "reduce_scatter": nranks - 1}.get(
        collective, nranks
    )


def costs(collective: str, nbytes: int, fabric: Fabric, release: Release) -> list[Estimate]:
    """Every candidate that NCCL considers, in its order."""
    if collective not in COLLECTIVES:
        raise ValueError(f"NCCL chooses for {', '.join(COLLECTIVES)}; got {collective!r}")
    found = [*_trees(collective, nbytes, fabric, release), *_rings(collective, nbytes, fabric, release)]
    found += [*_nvls(collective, fabric, release), *_pat(collective, fabric, release)]
    return [
        Estimate(algorithm, protocol, latency * 1e-6, bandwidth * 1e9)
        for algorithm, protocol, latency, bandwidth in found
        if bandwidth > 0
    ]


Line = tuple[str, str, float, float]  # algorithm, protocol, microseconds, GB/s


def _scale(fabric: Fabric) -> int:
    """One node, two, more: the column of the caps."""
    return min(fabric.nodes, 3) - 1


def _speed(graph: Graph, fabric: Fabric) -> float:
    return graph.channels * (graph.inside if fabric.nodes <= 2 else graph.between)


def _ll_max(fabric: Fabric, release: Release) -> float:
    """What LL reaches over all channels; between nodes NCCL's table is that of the processors."""
    if fabric.nodes > 1:
        return LL_MAX_NETWORK.get(fabric.cpu, LL_MAX_NETWORK["Intel"])[_scale(fabric)]
    return (release.ll_max or {})[fabric.generation]


def _hops(algorithm: str, index: int, fabric: Fabric) -> tuple[float, float]:
    """Microseconds of one step inside a node and between nodes. With one GPU a node nothing hides the network: the tree's."""
    between = HOP["network"]["Tree" if fabric.gpus == 1 else algorithm][index]
    return HOP["NVLink"][algorithm][index], between


def _rings(collective: str, nbytes: int, fabric: Fabric, release: Release) -> Iterator[Line]:
    graph, steps = ring(fabric, release), ring_steps(collective, fabric.nranks)
    total = _speed(graph, fabric)
    capped = graph.channels * release.ring_ll128[fabric.generation][_scale(fabric)]
    bandwidths = (min(_ll_max(fabric, release), total / 2), min(0.92 * total, capped), total)
    for index, (protocol, bandwidth) in enumerate(zip(PROTOCOL_ORDER, bandwidths, strict=True)):
        latency = BASE["Ring"][index] + _ring_latency(collective, index, fabric, steps)
        if protocol == "Simple" and _plateau(collective, nbytes, fabric, release):
            latency *= 1.4 if fabric.generation != "Volta" else 1.9
        yield "Ring", protocol, latency, bandwidth * fabric.nranks / steps


def _plateau(collective: str, nbytes: int, fabric: Fabric, release: Release) -> bool:
    share = nbytes // (channels(fabric, release) * fabric.nranks)
    return collective == "all_reduce" and fabric.nodes > 1 and share >= 64


def _ring_latency(collective: str, index: int, fabric: Fabric, steps: int) -> float:
    inside, between = _hops("Ring", index, fabric)
    if collective in ROOTED:  # one hop where all channels visit the GPUs in one order, as behind a switch
        return inside if fabric.nodes == 1 else HOP["network"]["Ring"][index]
    crossing = 0 if fabric.nodes == 1 else (fabric.nodes - 1) * (2 if collective == "all_reduce" else 1)
    if fabric.nodes > 1:
        inside = max(inside, (2.0 if fabric.cpu == "AMD" else 1.0) * (3 if index == 2 else 1))
    return (steps - crossing) * inside + crossing * between


def _trees(collective: str, nbytes: int, fabric: Fabric, release: Release) -> Iterator[Line]:
    """A chain inside a node, a double binary tree between nodes: up and down again."""
    if collective != "all_reduce":
        return
    graph, column = tree(fabric, release), _scale(fabric)
    total = min(0.92 * _speed(graph, fabric), graph.channels * release.tree[fabric.generation][column])
    ll128 = min(
        total * (7 / 9 if fabric.nodes == 1 else LL128.efficiency),
        graph.channels * release.tree_ll128[fabric.generation][column],
    )
    for index, bandwidth in enumerate((min(total / 3.8, _ll_max(fabric, release)), ll128, total)):
        inside, between = _hops("Tree", index, fabric)
        latency = BASE["Tree"][index] + 2 * ((fabric.gpus - 1) * inside + _log2(fabric.nodes) * between)
        yield "Tree", PROTOCOL_ORDER[index], latency, bandwidth / 2 * _tree_factor(PROTOCOL_ORDER[index], nbytes)


def _tree_factor(protocol: str, nbytes: int) -> float:
    place = (nbytes >> 6).bit_length() - 1
    factors = TREE_FACTORS[protocol]
    return factors[place] if 0 <= place < len(factors) else 1.0


def _nvls(collective: str, fabric: Fabric, release: Release) -> Iterator[Line]:
    """The switch adds and multicasts. Inside a node NVLS itself; between nodes its tree, in an all_reduce (NVLS alone needs CollNet)."""
    graph = nvls(fabric, release)
    gathers = fabric.nodes == 1 and fabric.gpus <= MOST_HEADS
    if graph is None or collective in ROOTED or (collective in GATHERS and not gathers):
        return
    if fabric.nodes == 1:
        yield "NVLS", "Simple", NVLS_LATENCY, _nvls_bandwidth(collective, graph, fabric, release)
        return
    latency = NVLS_LATENCY + 2 * _log2(fabric.nodes) * release.nvls_tree_hop
    yield "NVLSTree", "Simple", latency, _nvls_tree_bandwidth(graph, fabric, release)


def _nvls_bandwidth(collective: str, graph: Graph, fabric: Fabric, release: Release) -> float:
    """Of nbytes. Up to 2.27 the slower of the two speeds, five sixths of it; from 2.28 on an efficiency by generation."""
    heads, others = graph.channels, (fabric.gpus - 1) / fabric.gpus
    if release.nvls_efficiency is None:
        if collective == "all_reduce":
            return heads * min(graph.inside, graph.between) * 5 / 6
        if release.number < (2, 27):
            return heads * min(graph.inside, graph.between)
        return heads * min(graph.inside * others, 0.9 * graph.between)
    inside = graph.inside * release.nvls_efficiency[fabric.generation] * others
    if collective == "all_reduce":
        return heads * min(2 * inside, graph.between) * fabric.nranks / ring_steps(collective, fabric.nranks)
    return heads * min(inside * others, graph.between)


def _nvls_tree_bandwidth(graph: Graph, fabric: Fabric, release: Release) -> float:
    few = fabric.nodes <= 2
    if release.nvls_efficiency is None or release.nvls_tree is None:
        return graph.channels * min(graph.inside, graph.between / (1 if few else 2)) * 5 / 6
    others = (graph.channels - 1) / graph.channels
    inside = 2 * graph.inside * release.nvls_efficiency[fabric.generation] * others
    cap = release.nvls_tree[fabric.generation][_scale(fabric)]
    share = fabric.nranks / ring_steps("all_reduce", fabric.nranks)
    return graph.channels * min(inside, graph.between * (2 if few else 1), cap) * share


def _pat(collective: str, fabric: Fabric, release: Release) -> Iterator[Line]:
    """Only with one GPU a node."""
    if collective not in GATHERS or fabric.gpus != 1:
        return
    latency = release.pat_base + _log2(fabric.nodes) * HOP["network"]["Tree"][2] / 3.5 + PAT_PER_RANK * fabric.nranks
    yield "PAT", "Simple", latency, _speed(ring(fabric, release), fabric) * release.pat_share


def _log2(count: int) -> int:
    return int(math.log2(count))
