"""The verdict on what a machine's tools say of its ways: the best ring, the worst pair, which GPU reaches which, how far the cards are.

What NCCL does not use by default is from its src/graph/paths.cc (2.30): GPUDirect RDMA beyond PXB, but from 2.27 on also over NVLink-C2C
(ncclTopoCheckGdr, NCCL_NET_GDR_C2C); the way of a neighbour by NVLink (PXN); and P2P beyond PXB, but for one or two GPUs on AMD's
processors (ncclTopoCheckP2p). It knows no difference between NODE and PHB. Chapter: yours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from helpers.nccl import Topology, TopologyEdge
from helpers.nccl.output.machine import amd, peers
from helpers.nccl.output.machine.grids import Grid
from helpers.nccl.output.machine.topo import parse_topos
from helpers.nccl.output.machine.topology import SAYS, rank_of
from helpers.yours.causes import cause
from helpers.yours.joined import joined
from helpers.yours.places import Place
from helpers.yours.verdict import CLEAN, Cause, Verdict

MODULES = (
    "GB200",
    "GB300",
    "GH200",
    "GB10",
    "Grace",
    "C2C Link",
)  # GPU and processor on one board, joined by NVLink-C2C
TOO_FAR = "too far for the card to read the GPU's memory itself (GPUDirect RDMA)"
FEW = 0.25  # of the ways
CORES = 72  # of one Grace
MATRIX = re.compile(
    r"CPU Affinity|^[ \t]*GPU0[ \t]+(?:GPU1\b|X[ \t]+(?:NV\d|SYS|SOC|NODE|PHB|PXB|PIX))", re.MULTILINE | re.ASCII
)


def of_topologies(text: str, told: Place | None) -> Verdict:
    """Of all such that stand in a text: AMD's or nvidia-smi's matrix, and which GPU reaches which."""
    if amd.SIGN.search(text):
        return of_topology(amd.parse_amd(text))
    reach = peers.parse_peers(text) if peers.SIGN.search(text) else ()
    module = bool(re.search(rf"\b(?:{'|'.join(MODULES)})\b", text)) or (
        told is not None and told.accelerator in MODULES
    )
    found = [of_peers(reach)] if reach else []
    if not reach or "CPU Affinity" in text:
        found = [*_of_machines(parse_topos(text), module), *found]
    return joined(found)


def _of_machines(found: Sequence[Topology], module: bool) -> list[Verdict]:
    """Each topology once, with how many machines have it."""
    told: list[Topology] = []
    for one in found:
        told += [] if one in told else [one]
    verdicts = [of_topology(one, module) for one in told]
    counts = [sum(other == one for other in found) for one in told]
    return [
        replace(one, what=f"{count} times {one.what}") if count > 1 else one
        for one, count in zip(verdicts, counts, strict=True)
    ]


def of_topology(found: Topology, module: bool = False) -> Verdict:
    """What a ring over all GPUs has to pass, and what stands between a GPU and its card. module: GPU and processor are known to be one."""
    gpus, nics = len(found.gpus), len(found.nics)
    cards = f" and {_count(nics, 'network card')}" if found.tool.startswith("nvidia") else ""
    what = f"a machine of {_count(gpus, 'GPU')}{cards}, from {found.tool}"
    sentence = _ring(found) + _cards(found, module or owns(found))
    return Verdict("topology", what, sentence, _clean(found), causes=tuple(_causes(found, module or owns(found))))


def owns(found: Topology) -> bool:
    """Whether the GPUs' memory is a NUMA node of its own, as only where GPU and processor are one."""
    return any(node is not None for node in found.own_numa.values())


def _clean(found: Topology) -> str:
    return CLEAN if len(found.gpus) > 1 or found.nics else ""


def _ring(found: Topology) -> str:
    ring = found.best_ring()
    hop = found.worst_hop(ring)
    if hop is None:
        return "One GPU: there is no way to another."
    sentence = f"The best ring is {' - '.join((*ring.order, ring.order[0]))}; its worst hop is {_hop(hop)}."
    worst = min(found.edges(found.gpus), key=lambda edge: rank_of(edge.way))
    return sentence + (f" The worst pair of all is {_hop(worst)}." if worst.way != hop.way else " No pair is worse.")


def _causes(found: Topology, module: bool) -> list[Cause]:
    gpus, hop = len(found.gpus), found.worst_hop(found.best_ring())
    causes = [_slow(found, hop)] if hop and not hop.linked else []
    if found.closed:
        one, other = found.closed[0]
        why = f"{one} may not reach the memory of {other}" + _more(len(found.closed), "pair")
        causes.append(no_p2p(why, len(found.closed), gpus)._replace(command=found.tool))
    causes += _far(found, module)
    if found.nics and 2 * len(found.nics) < gpus:
        why = f"{_count(len(found.nics), 'card')} for {gpus} GPUs: between nodes they share what the cards pass"
        causes.append(cause("too few NICs", why, gpus=gpus, accuses=False))
    return causes


def _slow(found: Topology, hop: TopologyEdge) -> Cause:
    """A ring that has to leave the links accuses; a machine that has none is built so, and is told what NCCL does there by itself."""
    gpus = len(found.gpus)
    why = f"every ring over all {gpus} GPUs has a hop {SAYS[hop.way]}, so none is faster than that"
    if any(edge.linked for edge in found.edges(found.gpus)):
        return cause(
            "wrong path", f"{why}, though some pairs have {'NVLinks' if 'nvidia' in found.tool else 'xGMI'}", gpus=gpus
        )
    if "nvidia" not in found.tool:
        return cause("wrong path", f"{why}; no pair has a link of its own", gpus=gpus, accuses=False)
    if rank_of(hop.way) < rank_of("PXB"):
        why += "; NCCL goes through memory of the host there unless NCCL_P2P_LEVEL says otherwise"
        why += " or the processor is AMD's" if gpus <= 2 else ""
    return cause(
        "wrong path", f"{why}; no pair has a link of its own (topo -mp leaves NVLinks out)", gpus=gpus, accuses=False
    )


def _far(found: Topology, module: bool) -> list[Cause]:
    """Cards that NCCL would not let read a GPU's memory: no module, no neighbour by NVLink with a near card."""
    far = [gpu for gpu in found.gpus if found.nics and rank_of(found.way(gpu, found.nearest(gpu)[0])) < rank_of("PXB")]
    if not far or module:
        return []
    way = found.way(far[0], found.nearest(far[0])[0])
    why = f"{far[0]} reaches its nearest card {SAYS[way]}" + _more(len(far), "GPU")
    relays = [gpu for gpu in found.gpus if gpu not in far]
    if all(any(found.way(gpu, by).startswith("NV") for by in relays) for gpu in far):
        said = f"{why}; NCCL goes by a neighbour on NVLink whose card is near (PXN)"
    elif _flat(found):
        said = f"{why}, as in the tree that a virtual machine shows; there NCCL_TOPO_FILE names the true one"
    elif _as_grace(found):
        said = f"{why}: {TOO_FAR}, unless GPU and processor are one (Grace: nvidia-smi c2c -s)"
    else:
        return [
            cause(
                "far NIC",
                f"{why}: {TOO_FAR}",
                gpus=len(found.gpus),
            )
        ]
    return [cause("far NIC", said, gpus=len(found.gpus), accuses=False)]


def _flat(found: Topology) -> bool:
    """Four GPUs or more, joined by NVLink, and PHB between all other devices: no real board has so many slots on one host bridge."""
    words = {edge.way for edge in found.edges() if not edge.linked}
    return len(found.gpus) >= 4 and all(edge.linked for edge in found.edges(found.gpus)) and words == {"PHB"}


def _as_grace(found: Topology) -> bool:
    """One GPU, or two or four with 18 NVLinks, on rows of 72 cores: an older driver or a virtual machine tells no more of a Grace."""
    spans = [cpus for cpus in found.cpus.values() if cpus]
    whole = bool(spans) and all(re.fullmatch(r"\d+-\d+", cpus, re.ASCII) for cpus in spans)
    ends = [tuple(map(int, cpus.split("-"))) for cpus in spans] if whole else []
    return (
        len(found.gpus) in (1, 2, 4)
        and whole
        and all(a // CORES == b // CORES and a % (CORES // 2) == 0 for a, b in ends)
    )


def _cards(found: Topology, module: bool) -> str:
    """The nearest card of the GPU that is worst off."""
    if not found.tool.startswith("nvidia"):
        return " The command shows no network cards."
    if not found.nics:
        return " There is no network card in it."
    ways = [found.way(gpu, found.nearest(gpu)[0]) for gpu in found.gpus]
    worst = min(ways, key=rank_of)
    said = f" The nearest network card of a GPU is {worst} away at worst."
    if module and rank_of(worst) < rank_of("PXB"):
        said += " GPU and processor are one here (NVLink-C2C), and NCCL from 2.27 on lets the card read the GPU's memory over that."
    return said


def of_peers(found: Sequence[Grid]) -> Verdict:
    """Which GPU may reach the memory of which."""
    gpus = len(found[0].columns)
    closed = {pair: word for one in found for pair, word in one.pairs().items() if word != "OK"}
    what = f"which of {_count(gpus, 'GPU')} may reach the memory of which, from nvidia-smi topo -p2p"
    if not closed:
        return Verdict("topology", what, "Every GPU may reach the memory of every other.", CLEAN)
    (one, other), word = next(iter(closed.items()))
    why = f"between {one} and {other} stands {word}, {peers.STATES[word]}" + _more(len(closed), "pair")
    said = f"{len(closed)} of {gpus * (gpus - 1)} ways are closed."
    return Verdict("topology", what, said, CLEAN, causes=(no_p2p(why, len(closed), gpus),))


def no_p2p(why: str, closed: int, gpus: int) -> Cause:
    """Accuses where all ways are closed or a few; where many are, the machine is built of groups, by bridges or by sockets."""
    pairs = gpus * (gpus - 1)
    accuses = closed >= pairs or closed <= FEW * pairs
    why += ": what passes there is staged in memory of the host"
    return cause(
        "no P2P", why if accuses else f"{why}, as in a machine that is built of groups", gpus=gpus, accuses=accuses
    )


def _hop(edge: TopologyEdge) -> str:
    links = f"{edge.links} NVLinks" if edge.links else SAYS[edge.way]
    return f"{edge.one} to {edge.other}, {edge.way} ({links})"


def _more(n: int, one: str) -> str:
    return f"; so {'does' if n == 2 else 'do'} {n - 1} more {one}{'s' if n > 2 else ''}" if n > 1 else ""


def _count(n: int, one: str) -> str:
    return f"{n} {one}{'s' if n != 1 else ''}"
