"""What NCCL's topology search sees of a machine, and what it makes of it: channels and their speeds.

The whole search (src/graph/search.cc) walks a list of speeds until rings fill the links. On GPUs behind an NVSwitch its result
follows from a division, and that is what stands here. It gives the lines that machines print: 12 channels of 30 GB/s and NVLS
40/60 on 8 H100s, also on two nodes of them (NVIDIA/nccl issue 1197), 12 of 20 on 8 A100s, 32 channels on 8 GB300s (2.29.7). Between
nodes nothing else was seen by us: other networks are worked out, from all ports of a node together, on Blackwell from each, which
gives the 16 channels of NCCL's release notes. Chapters: interconnects, inside-nccl.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from helpers.nccl.releases import GENERATIONS, INTRA, INTRA_90, Release

MOST_CHANNELS = 64
MOST_HEADS = 32  # of NVLS; more GPUs than that use it for all_reduce only
DUPLICATED = 25.0  # a channel this fast is split into two
NOT_MUCH_SLOWER = 0.49  # of the best speed so far: below that the search ends


@dataclass(frozen=True)
class Fabric:
    """GPUs of one kind behind an NVSwitch, in one node or several.

    generation: of GENERATIONS. links: NVLinks of one GPU. gpus: in one NVLink domain, as many as take part there.
    ports: network ports that a node's GPUs use, each of `port` GB/s one way. cpu: "Intel", "AMD" or another.
    """

    generation: str
    links: int
    gpus: int
    nodes: int = 1
    ports: int = 0
    port: float = 0.0
    cpu: str = "Intel"

    def __post_init__(self) -> None:
        if self.generation not in GENERATIONS:
            raise ValueError(f"a generation is one of {', '.join(GENERATIONS)}, got {self.generation!r}")
        if min(self.links, self.gpus, self.nodes) < 1 or self.nranks < 2:
            raise ValueError(f"two GPUs or more, with links, are needed, got {self}")
        if self.nodes > 1 and not (self.ports and self.port):
            raise ValueError(f"{self.nodes} nodes need network ports")

    @property
    def nranks(self) -> int:
        """GPUs in all."""
        return self.gpus * self.nodes

    @property
    def hopper_or_newer(self) -> bool:
        """Compute capability 9.0 and up."""
        return GENERATIONS.index(self.generation) >= GENERATIONS.index("Hopper")


@dataclass(frozen=True)
class Graph:
    """What the search found for one pattern: channels, and GB/s of each, inside a node and between nodes."""

    channels: int
    inside: float
    between: float

    @property
    def total(self) -> float:
        """All channels together, inside a node."""
        return self.channels * self.inside


def wire(fabric: Fabric, release: Release) -> float:
    """All NVLinks of one GPU, one way, as NCCL counts them; ValueError for a GPU that this version does not know."""
    if release.link is None or fabric.generation not in release.link:
        raise ValueError(f"NCCL {release.version} does not know {fabric.generation}")
    return fabric.links * release.link[fabric.generation]


@lru_cache(maxsize=256)
def ring(fabric: Fabric, release: Release) -> Graph:
    """Down the list of speeds, while a speed is about half of the best one's; then a fast channel becomes two of half the speed.

    ValueError for a network that the slowest speed of the list does not fit into.
    """
    limit = wire(fabric, release)
    if fabric.nodes > 1:
        limit = min(limit, fabric.ports * fabric.port)
    channels, speed = 0, 0.0
    for next_speed in _speeds(fabric, release, between=fabric.nodes > 1):
        if channels and (channels * speed >= limit or next_speed / speed <= NOT_MUCH_SLOWER):
            break
        fit = int(limit / next_speed)
        if fabric.nodes > 1 and fabric.generation == "Blackwell":  # a channel goes by one port
            fit = min(fit, fabric.ports * int(fabric.port / next_speed))
        if fit * next_speed > channels * speed:
            channels, speed = fit, next_speed
    if not channels:
        network = f"{fabric.ports} ports of {fabric.port:g} GB/s"
        raise ValueError(f"no channel of NCCL {release.version} is as slow as a node's network: {network}")
    few_or_fast = not fabric.hopper_or_newer or speed >= 50 or channels <= 4
    if speed >= DUPLICATED and few_or_fast:
        channels, speed = 2 * channels, speed / 2
    return Graph(channels, speed, speed)


@lru_cache(maxsize=256)
def tree(fabric: Fabric, release: Release) -> Graph:
    """As many channels as the ring; the fastest speed of the list that the links carry so often."""
    found = ring(fabric, release)
    speeds = _speeds(fabric, release, between=fabric.nodes > 1)
    speed = max((s for s in speeds if s <= found.inside), default=found.inside)
    return Graph(found.channels, speed, speed)


@lru_cache(maxsize=256)
def nvls(fabric: Fabric, release: Release) -> Graph | None:
    """One head a GPU, each pulling from all the others; None where there is no NVLS: before Hopper, or for one or two GPUs."""
    if not fabric.hopper_or_newer or fabric.gpus < 3:
        return None
    limit, speeds, heads = wire(fabric, release), _speeds(fabric, release), min(MOST_HEADS, fabric.gpus)
    head = max(s for s in speeds if s * heads <= limit)
    between = speeds[0] if fabric.nodes == 1 else fabric.port * fabric.ports / fabric.gpus
    return Graph(heads, head, between)


def channels(fabric: Fabric, release: Release) -> int:
    """Channels of a communicator: twice those of the search, and up to 2.27 at least as many as NVLS has thread blocks.

    Between nodes of Blackwell that made 32 of 16, until 2.28.3 ("Decreased max CTA count from 32 to 16", its release notes).
    """
    found = min(MOST_CHANNELS, 2 * ring(fabric, release).channels)
    return max(found, nvls_blocks(fabric, release)) if release.rings_as_nvls and nvls(fabric, release) else found


def nvls_blocks(fabric: Fabric, release: Release) -> int:
    """Thread blocks of NVLS."""
    return release.nvls_blocks_100[min(fabric.nodes, 2) - 1] if fabric.generation == "Blackwell" else 16


def _speeds(fabric: Fabric, release: Release, between: bool = False) -> tuple[float, ...]:
    """between: nodes, where only Blackwell's list is told apart here; it begins with what a port carries."""
    if between and fabric.generation == "Blackwell":
        return tuple(s for s in release.between_100 if s <= fabric.port) or release.between_100[-1:]
    return {"Blackwell": release.speeds_100, "Hopper": INTRA_90}.get(fabric.generation, INTRA)
