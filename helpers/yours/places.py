"""On what machine a number was taken: told, or as far as a text's list of devices says. Chapter: yours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from helpers.facts import FACTS, MACHINES, Machine
from helpers.nccl import NcclDevice
from helpers.units import Bandwidth

# What CUDA calls a device (as nccl-tests prints it), and our key of that GPU; the first that fits.
NAMES = (
    (r"GB200", "GB200"),
    (r"GB300", "GB300"),
    (r"B200", "B200"),
    (r"B300", "B300"),
    (r"\bH200\b(?! NVL)", "H200"),
    (r"\bH100\b.*(?:PCIe|NVL)", "H100-PCIe"),
    (r"\bH100\b", "H100"),
    (r"A100-SXM4-40GB", "A100-40GB"),
    (r"A100-SXM", "A100"),
    (r"\bL40S\b", "L40S"),
    (r"\bA40\b", "A40"),
    (r"RTX 4090", "RTX-4090"),
)
AS = {"A100-40GB": "A100"}  # the same links and switches, so the same machine
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
        every GPU sends most of its parts out of its node, in a sendrecv only one GPU of a node sends out of it.
        """
        if self.alone(nranks) or not self.across:
            return self.inside if self.alone(nranks) else None
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
    """ "NVIDIA H100 80GB HBM3" -> "H100"; None for a GPU that the facts' machines do not have."""
    return next((key for pattern, key in NAMES if re.search(pattern, name)), None)


def gpu_place(names: Sequence[str]) -> Place | None:
    """From what CUDA calls the GPUs of one node: the first machine with such, and no word of the network; None where they are not known."""
    keys = {accelerator_of(name) for name in names}
    key = keys.pop() if len(keys) == 1 else None
    machine = next((m for m in MACHINES.values() if key and m.accelerator == AS.get(key, key)), None)
    if key is None or machine is None:
        return None
    return replace(place_of(machine, told=False), accelerator=key, across=None, nics=0)


def found_place(devices: Sequence[NcclDevice]) -> Place | None:
    """From a table's list of devices: a machine with these GPUs, as many nodes as there are hosts, and no word of the network."""
    keys = {accelerator_of(device.name) for device in devices}
    key = keys.pop() if len(keys) == 1 else None
    fitting = (m for m in MACHINES.values() if key and m.accelerator == AS.get(key, key))
    machine = next(fitting, None)
    if key is None or machine is None:
        return None
    hosts = len({device.host for device in devices})
    place = replace(place_of(machine, told=False), accelerator=key)
    if hosts == 1 or place.domain > place.gpus:
        return place
    each = max(1, len(devices) // hosts)
    return replace(place, gpus=each, domain=each, nodes=hosts, across=None, nics=0)
