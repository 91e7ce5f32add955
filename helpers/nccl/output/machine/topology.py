"""What joins the devices of a machine, as values: GPUs, network cards, the way between two of them, the best ring. Chapters: interconnects,
choosing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from helpers.nccl.output.machine.rings import BestRing, best_ring
from helpers.nccl.output.tables.errors import TopologyError

WORDS = {
    "SYS": "through PCIe and between CPU sockets",
    "NODE": "through PCIe and between host bridges of one NUMA node",
    "PHB": "through PCIe and one host bridge, as a rule the CPU",
    "PXB": "through several PCIe bridges, no host bridge",
    "PIX": "through one PCIe bridge at most",
}
# Of AMD's tools, which tell no more of a way over PCIe than how many hops it has
AMD_WORDS = {"PCIE": "through PCIe and the processor", "XGMI": "by xGMI, AMD's link between GPUs"}
SAYS = WORDS | AMD_WORDS
_ORDER = (
    "SYS",
    "PCIE",
    "NODE",
    "PHB",
    "PXB",
    "PIX",
    "XGMI",
)  # worst first; NVLinks come behind them, the more the better
_LINKS = re.compile(r"NV([1-9]\d?)", re.ASCII)
_GPU = re.compile(r"GPU\d+", re.ASCII)


@dataclass(frozen=True)
class TopologyEdge:
    """Two devices and the way between them: a word of the legend, with the number of NVLinks where it is NV#."""

    one: str
    other: str
    way: str

    @property
    def links(self) -> int:
        """How many NVLinks, 0 for a way over PCIe. Through an NVSwitch each GPU has as many into the switch."""
        return links_of(self.way)

    @property
    def linked(self) -> bool:
        """Whether links between GPUs make it: NVLink or xGMI."""
        return rank_of(self.way) >= rank_of("XGMI")


@dataclass(frozen=True)
class Topology:
    """devices: as the matrix names them, in its order. ways: one word a pair, for both orders of it. nics: {NIC0: "mlx5_0"}.

    cpus, numa: affinity by device as printed ("0-47,96-143", "0"); None where there is none, N/A, or no such column. own_numa: the NUMA
    node that a GPU's memory is, where GPU and processor are one (NVLink-C2C). tool: the command that told it. closed: pairs whose first GPU
    may not reach the memory of the second, where the tool tells.
    """

    devices: tuple[str, ...]
    ways: Mapping[tuple[str, str], str]
    nics: Mapping[str, str | None]
    cpus: Mapping[str, str | None]
    numa: Mapping[str, str | None]
    own_numa: Mapping[str, str | None] = field(default_factory=dict)
    tool: str = "nvidia-smi topo -m"
    closed: tuple[tuple[str, str], ...] = ()

    @property
    def gpus(self) -> tuple[str, ...]:
        """The GPUs, in the matrix's order."""
        return tuple(device for device in self.devices if _GPU.fullmatch(device))

    def way(self, one: str, other: str) -> str:
        """The word between two devices; TopologyError for one that the matrix does not have."""
        for device in (one, other):
            if device not in self.devices:
                raise TopologyError(f"the devices are {', '.join(self.devices)}, got {device!r}")
        if one != other and (one, other) not in self.ways:
            raise TopologyError(f"the text has no row that tells the way from {one} to {other}")
        return "X" if one == other else self.ways[one, other]

    def edges(self, devices: Sequence[str] | None = None) -> tuple[TopologyEdge, ...]:
        """Every pair once whose way is told, of all devices or of these, in order: what a figure draws."""
        pairs = combinations(self.devices if devices is None else tuple(devices), 2)
        return tuple(TopologyEdge(*pair, self.way(*pair)) for pair in pairs if pair in self.ways)

    def nearest(self, gpu: str) -> tuple[str, ...]:
        """The network cards that are joined best to a GPU."""
        ranks = {nic: rank_of(self.way(gpu, nic)) for nic in self.nics}
        return tuple(nic for nic, rank in ranks.items() if rank == max(ranks.values()))

    def best_ring(self) -> BestRing:
        """A ring over all GPUs with as few hops as possible of the worst kind, then of the next: so its worst hop is the best there is.

        NV# stands above PIX, PXB, PHB, NODE and SYS, and more NVLinks above fewer. Up to ten GPUs no ring is better.
        """
        return best_ring(self.gpus, lambda one, other: rank_of(self.way(one, other)))

    def worst_hop(self, ring: BestRing) -> TopologyEdge | None:
        """The hop that holds a ring up, the first of equals; None for a single GPU."""
        hops = [TopologyEdge(one, other, self.way(one, other)) for one, other in ring.hops]
        return min(hops, key=lambda hop: rank_of(hop.way), default=None)


def links_of(way: str) -> int:
    """NV18 -> 18, any other word 0."""
    found = _LINKS.fullmatch(way)
    return int(found[1]) if found else 0


def rank_of(way: str) -> int:
    """The higher, the better."""
    return len(_ORDER) + links_of(way) if links_of(way) else _ORDER.index(way)
