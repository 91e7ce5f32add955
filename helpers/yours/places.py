"""On what machine a number was taken: told, or as far as a text's list of devices says. Chapter: yours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from helpers.facts import FACTS, MACHINES, PRODUCTS, Machine
from helpers.nccl import NcclDevice
from helpers.units import Bandwidth

NAMES = tuple(
    (product["named"], key) for key, product in PRODUCTS.items()
)  # what a driver calls a GPU, and our key of it
_JOINED = {key: MACHINES[product["machine"]] for key, product in PRODUCTS.items() if "machine" in product}
AS = {
    key: machine.accelerator for key, machine in _JOINED.items() if key != machine.accelerator
}  # the same links, so the same machine
# What NCCL's maintainers tell to expect of one card, by its line rate; both in bytes per second, one way.
REACHED = {
    FACTS[f"{card}.gpu"].bandwidth.value: FACTS[f"{card}.gpu.achievable"].bandwidth.value
    for card in ("efa-100", "infiniband-hdr", "infiniband-ndr")
}


@dataclass(frozen=True)
class Place:
    """A machine as a verdict needs it; `helpers.nccl.predict` takes it as one. gpus: in one node. domain: joined by `inside`.

    across: one GPU's share of its node's network, one way; None where nobody tells the network. slot: one PCIe slot, bytes per
    second one way, None where no source names it. told: by the reader, not found in the text. network: what joins the nodes, in words,
    where the text told it; supposed: its cards' rate is that of the product's cards, which no line told.
    """

    title: str
    accelerator: str
    gpus: int
    nodes: int
    domain: int
    shape: str
    nics: int
    cpu: str | None
    across: Bandwidth | None
    inside: float
    slot: float | None
    told: bool = True
    network: str = ""
    supposed: bool = False

    @property
    def ports(self) -> float:
        """All network ports of one node, bytes per second one way; 0 where they are not known."""
        return 0.0 if self.across is None else self.across.value * self.gpus

    def with_ports(self, count: int) -> Place:
        """The same machine with so many of its network ports in use."""
        if self.across is None:
            raise ValueError(f"{self.title}: its network is not known")
        return replace(self, nics=count, across=self.across * (count / self.nics))

    def alone(self, nranks: int) -> bool:
        """Whether so many ranks fit into one domain, so that no network takes part."""
        return nranks <= max(self.domain, self.gpus)

    @property
    def port(self) -> float:
        """One network port, bytes per second one way; 0 where they are not known."""
        return self.ports / self.nics if self.nics else 0.0

    def taking_part(self, nranks: int, hosts: int) -> Place:
        """What of a told machine so many ranks on so many hosts took: more of its nodes or racks, or a part of each node.

        A node or rack with a network stands for any number of them. hosts: 0 where nobody tells.
        """
        whole, each = self.gpus * self.nodes, nranks // hosts if hosts > 1 and nranks % hosts == 0 else self.gpus
        if not self.ports:
            return self
        one = self.nodes == 1 or self.domain > self.gpus
        if each < self.gpus >= self.domain:
            nics = max(1, self.nics * each // self.gpus)
            share = Bandwidth(self.port * nics / each, "one way")
            nodes = hosts if one else self.nodes
            return replace(self, gpus=each, domain=each, nodes=nodes, nics=nics, across=share)
        return replace(self, nodes=self.nodes * nranks // whole) if one and nranks % whole == 0 else self

    def line_rate(self, nranks: int, collective: str | None = None) -> float | None:
        """The busbw that so many GPUs could reach at most, one way; None where their network is not known.

        A ring passes each node's ports once for each of its channels, so all ports together carry what one GPU sends. In an all_to_all
        every GPU sends most of its parts out of its node, in a sendrecv only one GPU of a node sends out of it. In a mesh only the links
        to those that take part count.
        """
        if self.alone(nranks):
            peers = 1 if collective == "sendrecv" else nranks - 1
            return self.inside * peers / (self.domain - 1) if self.shape == "mesh" and nranks > 1 else self.inside
        if not self.across:
            return None
        together = max(self.domain, self.gpus)
        share = self.across.value
        if collective == "sendrecv":
            return min(self.inside, max(share, self.port))
        if collective in ("alltoall", "alltoallv"):
            return min(self.inside, share * (nranks - 1) / (nranks - together))
        return min(self.inside, share * together)

    def reach(self, nranks: int, collective: str | None = None) -> float | None:
        """Of the line rate what cards of this rate pass for NCCL; None inside a domain, and for cards of which nobody told."""
        rate, card = self.line_rate(nranks, collective), REACHED.get(round(self.port, -6))
        return None if self.alone(nranks) or not rate or not card or rate == self.inside else rate * card / self.port


def place_of(machine: Machine, told: bool = True) -> Place:
    """A machine of helpers.facts."""
    slot = f"{machine.pcie}.gpu"
    return Place(
        machine.title,
        machine.accelerator,
        machine.gpus,
        machine.nodes,
        machine.domain,
        machine.shape,
        machine.nics,
        machine.cpu,
        machine.across,
        machine.inside.value,
        FACTS[slot].bandwidth.value if slot in FACTS else None,
        told,
    )


def told_place(machine: str | Machine) -> Place:
    """Of a key of MACHINES, or a machine; KeyError and TypeError that say what was expected."""
    if isinstance(machine, str) and machine not in MACHINES:
        raise KeyError(f"no machine {machine!r}; there are: {', '.join(MACHINES)}")
    if not isinstance(machine, (str, Machine)):
        raise TypeError(f"a machine is a key of helpers.facts.MACHINES or one of them, got {type(machine).__name__}")
    return place_of(MACHINES[machine] if isinstance(machine, str) else machine)


def accelerator_of(name: str) -> str | None:
    """ "NVIDIA H100 80GB HBM3" -> "H100"; None for a GPU that the facts' products do not have."""
    return next((key for pattern, key in NAMES if re.search(pattern, name)), None)


def why_unknown(names: Sequence[str]) -> str:
    """What nobody tells of these GPUs; "" where they are no product of the facts."""
    reasons = {PRODUCTS.get(accelerator_of(name) or "", {}).get("why", "") for name in names}
    return reasons.pop() if len(reasons) == 1 else ""


def gpu_place(names: Sequence[str]) -> Place | None:
    """From what CUDA calls the GPUs of one node: a machine with such, and no word of the network; None where they are not known."""
    place = _place_with(names)
    return None if place is None else replace(place, across=None, nics=0)


def found_place(devices: Sequence[NcclDevice]) -> Place | None:
    """From a table's list of devices: a machine with these GPUs, as many nodes as there are hosts, and no word of the network."""
    place = _place_with([device.name for device in devices])
    hosts = len({device.host for device in devices})
    if place is None or hosts == 1 or place.domain > place.gpus:
        return place
    if place.gpus == 1:
        return replace(place, nodes=hosts)
    each = max(1, len(devices) // hosts)
    return replace(place, gpus=each, domain=each, nodes=hosts, across=None, nics=0)


def _place_with(names: Sequence[str]) -> Place | None:
    """Of these GPUs, if they are all of one kind and it is told what joins them."""
    keys = {accelerator_of(name) for name in names}
    key = keys.pop() if len(keys) == 1 else None
    product = PRODUCTS.get(key or "", {"why": "no product"})
    if key is None or "why" in product:
        return None
    if "machine" in product:
        return replace(place_of(_JOINED[key], told=False), accelerator=key)
    slot = FACTS[f"{product['slot']}.gpu"].bandwidth.value if "slot" in product else None
    fabric = FACTS[f"{key}.fabric"].bandwidth if f"{key}.fabric" in FACTS else None
    alone = fabric if product["gpus"] == 1 else None  # the one GPU of a host has nothing but its network
    inside = fabric.value if fabric else slot or 0.0
    gpus, title, shape = product["gpus"], product["title"], product["shape"]
    return Place(title, key, gpus, 1, gpus, shape, int(alone is not None), None, alone, inside, slot, told=False)
