"""A machine: which accelerators, how many, what joins them inside a node and between nodes.

Chapters: interconnects, inside-nccl.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from helpers.facts.accelerator import Accelerator
from helpers.facts.fact import Entry, Fact, FactError
from helpers.units import Bandwidth

SHAPES = ("switch", "mesh", "bridges", "host")
CPUS = ("Intel", "AMD", "Arm")
COUNTS = ("gpus", "nics", "nodes", "domain")
PARTS = ("accelerator", "wire", "shape", "switch", "pcie", "card", "network", "cpu", "note")
KNOWN = ("switch", "pcie", "card")  # parts that some fact's key must begin with
NAMES = {"nvlink": "NVLink", "nvswitch": "NVSwitch", "pcie": "PCIe", "xgmi": "xGMI", "infiniband": "InfiniBand"}
NAMES |= {"roce": "RoCE", "connectx": "ConnectX", "efa": "EFA", "tcpxo": "GPUDirect-TCPXO"}


@dataclass(frozen=True)
class Machine:
    """GPUs in nodes. Counts are plain numbers; `facts` says where each of them stands.

    accelerator: a key of ACCELERATORS. gpus: in one node, that is under one operating system. nodes: how many such.
    wire: what joins the GPUs of a node, the first part of its facts' keys: "nvlink-4" has nvlink-4.gpu, nvlink-4.link, ...
    shape: "switch" (every GPU reaches every other at the full rate of all its links), "mesh" (a link or more to each other
    GPU), "bridges" (pairs of GPUs; others by PCIe), "host" (through PCIe and the processors only).
    switch: the first part of the switch's facts, "nvswitch-3"; None without one.
    domain: GPUs that reach each other by `wire`: a node's, but 72 in an NVL72 and 2 under a bridge.
    pcie: the slots, "pcie-5"; None where no source names them, or the processor is joined by NVLink-C2C.
    nics: ports in one node that serve the GPUs' own traffic (storage's and management's are not counted), 0 without any.
    card: what they sit on, "connectx-7". network: where they lead, "infiniband-ndr" or "roce-400"; None without.
    cpu: "Intel", "AMD", "Arm", or None where nobody says. note: what the reader must know of these numbers.
    """

    name: str
    title: str
    accelerator: str
    gpus: int
    nodes: int
    wire: str
    shape: str
    domain: int
    switch: str | None = None
    pcie: str | None = None
    card: str | None = None
    nics: int = 0
    network: str | None = None
    cpu: str | None = None
    note: str = ""
    gpu: Fact | None = None
    port: Fact | None = None
    facts: tuple[Fact, ...] = ()

    def __post_init__(self) -> None:
        for part in ("gpus", "nodes", "domain"):
            if not isinstance(getattr(self, part), int) or getattr(self, part) < 1:
                raise FactError(f"{self.name}: {part} is a positive whole number, got {getattr(self, part)!r}")
        if self.shape not in SHAPES:
            raise FactError(f"{self.name}: shape is one of {', '.join(SHAPES)}, got {self.shape!r}")
        if self.cpu is not None and self.cpu not in CPUS:
            raise FactError(f"{self.name}: cpu is one of {', '.join(CPUS)}, got {self.cpu!r}")
        if bool(self.nics) != bool(self.network):
            raise FactError(f"{self.name}: NICs and their network go together, got {self.nics} and {self.network!r}")
        if self.nodes > 1 and not self.network and self.domain < self.nranks:
            raise FactError(f"{self.name}: {self.nodes} nodes need a network, or one domain of {self.nranks} GPUs")

    @property
    def nranks(self) -> int:
        """GPUs in all, a rank each."""
        return self.gpus * self.nodes

    @property
    def inside(self) -> Bandwidth:
        """What one GPU can send to the others of its domain, one way: all its links, or its slot."""
        if self.gpu is None:
            raise FactError(f"{self.name}: made without the facts of its wire")
        return self.gpu.bandwidth

    @property
    def pair(self) -> Bandwidth:
        """What one GPU can send to one other of its domain, one way: in a mesh only the links between the two count."""
        return self.inside / (self.domain - 1) if self.shape == "mesh" else self.inside

    @property
    def across(self) -> Bandwidth | None:
        """A GPU's share of its node's ports, one way; None without a network. Several GPUs share a port where they are more."""
        if self.port is None:
            return None
        return Bandwidth(self.port.bandwidth.value * self.nics / self.gpus, "one way")

    def __str__(self) -> str:
        nodes = f"{self.nodes} nodes of " if self.nodes > 1 else ""
        where = "between nodes" if self.domain <= self.gpus else "out of the rack"
        across = f"; {where} {self.across}" if self.nodes > 1 and self.across else ""
        return f"{self.title}: {nodes}{self.gpus} {self.accelerator}, {part_name(self.wire)} by {self.shape}, {self.inside}{across}"


def build_machines(
    table: Mapping[str, Entry], facts: Mapping[str, Fact], accelerators: Mapping[str, Accelerator]
) -> dict[str, Machine]:
    """The machines of a parsed machines.toml; FactError for one of unknown parts. `of` names one to take the rest from."""
    return {name: _machine(name, table, facts, accelerators) for name in table}


def part_name(key: str) -> str:
    """What a wire, switch or card is called: "nvlink-4" -> "NVLink 4", "infiniband-ndr" -> "InfiniBand NDR"."""
    kind, *rest = key.split("-")
    return " ".join([NAMES.get(kind, kind), *(word if word == "bridge" else word.upper() for word in rest)])


def _machine(
    name: str, table: Mapping[str, Entry], facts: Mapping[str, Fact], accelerators: Mapping[str, Accelerator]
) -> Machine:
    entry, counted = _whole(name, table)
    chosen = {part: entry[part] for part in COUNTS if part in entry}
    counts = {
        part: facts[f"{group}.{part}"] for part, group in counted.items() if part in COUNTS and part not in chosen
    }
    parts = {part: entry[part] for part in PARTS if part in entry}
    keys = {"gpu": f"{parts.get('wire')}.gpu"} | ({"port": f"{parts['network']}.port"} if "network" in parts else {})
    missing = [key for key in keys.values() if key not in facts]
    missing += [parts[part] for part in KNOWN if part in parts and not _known(parts[part], facts)]
    if parts.get("accelerator") not in accelerators:
        missing += [str(parts.get("accelerator"))]
    numbers = {part: int(fact.number) for part, fact in counts.items()} | chosen
    if missing or "gpus" not in numbers:
        raise FactError(f"{name}: a machine has gpus and parts that the facts know; not found: {missing}")
    numbers = {"nodes": 1, "domain": numbers["gpus"], **numbers}
    wires: dict[str, Any] = {part: facts[key] for part, key in keys.items()}
    return Machine(name, entry["title"], **parts, **numbers, **wires, facts=(*counts.values(), *wires.values()))


def _known(prefix: str, facts: Mapping[str, Fact]) -> bool:
    return any(key.startswith(f"{prefix}.") for key in facts)


def _whole(name: str, table: Mapping[str, Entry]) -> tuple[dict[str, Any], dict[str, str]]:
    """An entry with what it takes from another, and for each count the entry that states it."""
    entry = table[name]
    base, counted = _whole(entry["of"], table) if "of" in entry else (dict[str, Any](), dict[str, str]())
    return {**base, **entry}, {**counted, **dict.fromkeys(entry.get("facts", {}), name)}
