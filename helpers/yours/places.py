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


@dataclass(frozen=True)
class Place:
    """A machine as a verdict needs it; `helpers.nccl.predict` takes it as one. gpus: in one node. domain: joined by `inside`.

    across: one GPU's share of its node's network, one way; None where nobody tells the network. slot: one PCIe slot, bytes per
    second one way, None where no source names it. told: by the reader, not found in the text.
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

    def line_rate(self, nranks: int) -> float | None:
        """What a ring over so many GPUs could pass at most, one way; None where its network is not known.

        A ring passes each node's ports once for each of its channels, so all ports together carry what one GPU sends.
        """
        if self.alone(nranks):
            return self.inside
        return min(self.inside, self.ports) if self.ports else None


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
