"""How one GPU's bytes reach another's memory under NCCL, by where the two sit.

Tried in this order (src/transport.cc): P2P, SHM, NET. Sources, NCCL 2.30.7: ncclTopoCheckP2p in src/graph/paths.cc (across a
processor only between two GPUs of an AMD host), shmCanConnect in src/transport/shm.cc, ncclTopoCheckGdr for GPUDirect RDMA.
Chapters: interconnects, inside-nccl.
"""

from __future__ import annotations

from dataclasses import dataclass

from helpers.nccl.platforms import Described

READERS = ("A100", "A100-40GB")  # over NVLink the receiver reads: only where the compute capability is 8.0


@dataclass(frozen=True)
class Transport:
    """name: "P2P", "SHM" or "NET", as in NCCL's log. hops: what the bytes pass, in order. proxy: whether a thread on the processor
    moves them along. writer: who touches the other's memory, "sender" or "receiver". why: the rule that decided.
    """

    name: str
    hops: tuple[str, ...]
    proxy: bool
    writer: str
    why: str

    @property
    def direct(self) -> bool:
        """Whether a kernel can use a pointer into the other GPU's memory."""
        return self.name == "P2P"


def transport(machine: Described, src: int, dst: int, gpudirect: bool = True) -> Transport:
    """Between two ranks, numbered node by node. gpudirect: whether the network cards may read and write GPU memory: NCCL does that
    where a card is no farther than PCIe switches from the GPU, or where the processor is joined by NVLink-C2C.
    """
    nranks = machine.gpus * machine.nodes
    if src == dst or not (0 <= src < nranks and 0 <= dst < nranks):
        raise ValueError(f"two different ranks of {nranks} are needed, got {src} and {dst}")
    same_host = src // machine.gpus == dst // machine.gpus
    if machine.shape != "host" and src // machine.domain == dst // machine.domain:
        return _over_links(machine, same_host)
    if not same_host:
        return _network(gpudirect)
    if machine.cpu == "AMD" and machine.gpus <= 2:
        why = "two GPUs of an AMD host: peer-to-peer also across the processor"
        return Transport("P2P", ("PCIe", "processor", "PCIe"), False, "sender", why)
    why = "no link, and the path crosses a processor: through memory of the host that both map"
    return Transport("SHM", ("PCIe", "host memory", "PCIe"), False, "sender", why)


def _over_links(machine: Described, same_host: bool) -> Transport:
    hops = {"switch": ("NVLink", "NVSwitch", "NVLink")}.get(machine.shape, ("link",))
    why = "one host" if same_host else "one NVLink domain over several hosts"
    reads = machine.accelerator in READERS
    return Transport("P2P", hops, False, "receiver" if reads else "sender", f"{why}: peer-to-peer over the links")


def _network(gpudirect: bool) -> Transport:
    card = ("PCIe", "NIC", "network", "NIC", "PCIe")
    if gpudirect:
        return Transport("NET", card, True, "sender", "two hosts: the cards read and write GPU memory (GPUDirect RDMA)")
    through = ("PCIe", "host memory", *card, "host memory", "PCIe")
    return Transport("NET", through, True, "sender", "two hosts: staged in memory of both, no GPUDirect RDMA")
