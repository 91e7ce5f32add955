"""Where the ranks of one group stand, and the networks that price what they say to each other. Chapters: tensor-parallel, meshes.

Axes are laid out as Megatron-LM lays them: tensor ranks are neighbours, then context, then data (and experts among them), and stages of
a pipeline are farthest apart. Ranks that share one replica out are neighbours among those with the same parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

from helpers.collectives import Nodes
from helpers.facts import LINKS, Link, Machine
from helpers.memory import Sharding
from helpers.nccl.platforms import Platform


@dataclass(frozen=True)
class Place:
    """A group of `nranks`, `together` of them in each node that it touches."""

    machine: Machine
    nranks: int
    together: int

    @property
    def level(self) -> str:
        """What the slowest of its messages crosses: "node", or the "network" between nodes."""
        return "node" if self.together == self.nranks else "network"

    @property
    def inside(self) -> Link:
        """The wire of a node."""
        return LINKS[self.machine.wire]

    @property
    def across(self) -> Link:
        """The network between nodes, at what NCCL reaches of it, as `inside`. ValueError where no latency of it is known."""
        if self.machine.network not in LINKS:
            raise ValueError(
                f"a network with a known latency is one of {', '.join(LINKS)}, got {self.machine.network!r}"
            )
        return LINKS[self.machine.network].achievable

    @property
    def network(self) -> Link | Nodes:
        """What `helpers.collectives.price` takes: every GPU has a NIC of its own, and sends no faster than its share."""
        return self.inside if self.level == "node" else Nodes(self.together, self.inside, self.across)

    @property
    def platform(self) -> Platform:
        """What `helpers.nccl.predict` takes: the group's GPUs and NICs, as if no others were there."""
        m, nodes = self.machine, self.nranks // self.together
        if nodes == 1:
            return Platform(m.accelerator, self.together, cpu=m.cpu or "Intel")
        share = m.across.value / 1e9 if m.across else 0.0
        return Platform(m.accelerator, self.together, nodes, self.together, share, m.cpu or "Intel")


def place(machine: Machine, nranks: int, stride: int) -> Place:
    """The group whose ranks stand `stride` apart."""
    return Place(machine, nranks, min(nranks, max(1, machine.domain // stride)))


def strides(sharding: Sharding) -> dict[str, tuple[int, int]]:
    """(ranks, how far apart) of every kind of group; experts are spread over neighbours on the data axis."""
    tensor, data = sharding.tensor, sharding.data_ranks
    return {
        "tensor": (tensor, 1),
        "context": (sharding.context, tensor),
        "shards": (sharding.shards, tensor),
        "replicas": (sharding.replicas, tensor * sharding.shards),
        "expert": (sharding.expert, tensor),
        "replicas of experts": (data // sharding.expert, tensor * sharding.expert),
        "pipeline": (sharding.pipeline, tensor * data),
    }
