"""A machine as the predictions need it: which GPUs, how many links, how many in a node. Chapter: inside-nccl."""

from __future__ import annotations

import typing
from dataclasses import dataclass, replace

from helpers.nccl.fabric import Fabric
from helpers.nccl.launch import LAUNCHES, Launch
from helpers.units import Bandwidth

GENERATION = {"V100": "Volta", "A100": "Ampere", "A100-40GB": "Ampere"}
GENERATION |= dict.fromkeys(("H100", "H200", "H20"), "Hopper")
GENERATION |= dict.fromkeys(("B200", "B300", "GB200", "GB300"), "Blackwell")
LINKS = {"Volta": 6, "Ampere": 12, "Hopper": 18, "Blackwell": 18}  # NVLinks of one GPU
# Where our tables have no rows of a GPU: of which measured one its launch and hop are taken.
LIKE = {"A100-40GB": "A100", "H20": "H100", "B300": "B200", "GB300": "GB200"}


class NotPredicted(ValueError):
    """NCCL's model says nothing useful of these GPUs: over PCIe, one call lasts several times what another of its size does."""


class Described(typing.Protocol):
    """What is read of a machine of helpers.facts."""

    @property
    def accelerator(self) -> str: ...
    @property
    def gpus(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def domain(self) -> int: ...
    @property
    def shape(self) -> str: ...
    @property
    def nics(self) -> int: ...
    @property
    def cpu(self) -> str | None: ...
    @property
    def across(self) -> Bandwidth | None: ...


@dataclass(frozen=True)
class Platform:
    """accelerator: a key of helpers.facts.ACCELERATORS. gpus: that one NVSwitch fabric joins: a node's, or 72 in an NVL72.
    ports: of these GPUs' network, each `port` GB/s one way. launch: None where nothing is known. note: of the launch.
    """

    accelerator: str
    gpus: int
    nodes: int = 1
    ports: int = 0
    port: float = 0.0
    cpu: str = "Intel"
    launch: Launch | None = None
    note: str = ""

    @property
    def generation(self) -> str:
        """Of the GPU; NotPredicted for one that is not known here."""
        if self.accelerator not in GENERATION:
            raise NotPredicted(f"NCCL's model is known here for {', '.join(GENERATION)}, not for {self.accelerator}")
        return GENERATION[self.accelerator]

    def fabric(self, nranks: int | None = None) -> Fabric:
        """The GPUs that take part: whole nodes, or some of one node."""
        nranks = self.gpus * self.nodes if nranks is None else nranks
        links = LINKS[self.generation]
        if nranks <= self.gpus:
            return Fabric(self.generation, links, nranks, cpu=self.cpu)
        if nranks % self.gpus or nranks > self.gpus * self.nodes:
            raise ValueError(f"{nranks} ranks are not whole nodes of {self.gpus} GPUs, of {self.nodes} nodes")
        return Fabric(self.generation, links, self.gpus, nranks // self.gpus, self.ports, self.port, self.cpu)


def platform(machine: Described | Platform, launch: Launch | None = None) -> Platform:
    """A Platform as it is, or a machine of helpers.facts; the launch is the given one, or what our tables have of the GPU."""
    known = machine if isinstance(machine, Platform) else _of_facts(machine)
    if launch is not None or known.launch is not None:
        return replace(known, launch=launch or known.launch)
    model = LIKE.get(known.accelerator, known.accelerator)
    if model not in LAUNCHES:
        return replace(known, note="no launch of this GPU is known: measure one (launch_of)")
    note = "" if model == known.accelerator else f"launch and hop as measured on {model}"
    return replace(known, launch=LAUNCHES[model], note=note)


def _of_facts(machine: Described) -> Platform:
    """Machines of one NVLink domain over several hosts count as one node, as NCCL's multi-node NVLink does."""
    if machine.shape != "switch":
        raise NotPredicted(
            f"{machine.gpus} {machine.accelerator}, {machine.shape}: no NVSwitch joins them, so no time is predicted;"
            " measure, and take the line and its spread (helpers.nccl.runs.line_and_spread)"
        )
    together = min(machine.domain, machine.gpus * machine.nodes)
    hosts = max(1, together // machine.gpus)
    share = 0.0 if machine.across is None else machine.across.value * machine.gpus / max(1, machine.nics) / 1e9
    nodes = max(1, machine.gpus * machine.nodes // together)
    return Platform(machine.accelerator, together, nodes, machine.nics * hosts, share, machine.cpu or "Intel")
