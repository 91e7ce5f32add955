"""The verdict on `nvidia-smi topo -m`: the best ring, the worst pair, how far the network cards are. Chapter: yours."""

from __future__ import annotations

from helpers.nccl import Topology, TopologyEdge
from helpers.nccl.output.tables.topo import WORDS, rank_of
from helpers.yours.causes import cause
from helpers.yours.verdict import Cause, Verdict

NEAR = ("PIX", "PXB")  # from there a card reads the GPU's memory itself (GPUDirect RDMA)


def of_topology(found: Topology) -> Verdict:
    """What a ring over all GPUs has to pass, and what stands between a GPU and its card."""
    gpus, nics = len(found.gpus), len(found.nics)
    what = f"a machine of {_count(gpus, 'GPU')} and {_count(nics, 'network card')}, from nvidia-smi topo -m"
    ring = found.best_ring()
    hop = found.worst_hop(ring)
    if hop is None:
        return Verdict("topology", what, "One GPU: there is no way to another.")
    order = " - ".join((*ring.order, ring.order[0]))
    sentence = f"The best ring is {order}; its worst hop is {_hop(hop)}."
    worst = min(found.edges(found.gpus), key=lambda edge: rank_of(edge.way))
    sentence += f" The worst pair of all is {_hop(worst)}." if worst.way != hop.way else " No pair is worse."
    sentence += _cards(found)
    return Verdict("topology", what, sentence, causes=_causes(found, hop))


def _causes(found: Topology, hop: TopologyEdge) -> tuple[Cause, ...]:
    causes, gpus = [], len(found.gpus)
    if not hop.links:
        linked = any(edge.links for edge in found.edges(found.gpus))
        why = f"every ring over all {gpus} GPUs has a hop {WORDS[hop.way]}, so none is faster than that"
        why += ", though some pairs have NVLinks" if linked else ""
        causes.append(cause("wrong path", why, gpus=gpus))
    far = [gpu for gpu in found.gpus if found.nics and found.way(gpu, found.nearest(gpu)[0]) not in NEAR]
    if far:
        way = found.way(far[0], found.nearest(far[0])[0])
        why = f"{far[0]} reaches its nearest card {WORDS[way]}: too far for the card to read the GPU's memory itself"
        why += ", unless NVLink-C2C joins GPU and processor"
        why += f"; so do {len(far) - 1} more" if len(far) > 1 else ""
        causes.append(cause("far NIC", why, gpus=gpus))
    if found.nics and 2 * len(found.nics) < gpus:
        why = f"{_count(len(found.nics), 'card')} for {gpus} GPUs: between nodes they share what the cards pass"
        causes.append(cause("too few NICs", why, gpus=gpus, accuses=False))
    return tuple(causes)


def _cards(found: Topology) -> str:
    """The nearest card of the GPU that is worst off."""
    if not found.nics:
        return " There is no network card in it."
    ways = [found.way(gpu, found.nearest(gpu)[0]) for gpu in found.gpus]
    return f" The nearest network card of a GPU is {min(ways, key=rank_of)} away at worst."


def _hop(edge: TopologyEdge) -> str:
    links = f"{edge.links} NVLinks" if edge.links else WORDS[edge.way]
    return f"{edge.one} to {edge.other}, {edge.way} ({links})"


def _count(n: int, one: str) -> str:
    return f"{n} {one}{'s' if n != 1 else ''}"
