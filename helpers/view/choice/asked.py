"""What the widget `choice` may be asked, what NCCL answers, and which published times stand beside it. Chapter: choosing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from helpers.facts import MACHINES, Machine
from helpers.nccl import Choice, Estimate, costs, predict, release_of
from helpers.nccl.platforms import platform
from helpers.nccl.runs import nvlink_runs
from helpers.nccl.tuning import COLLECTIVES
from helpers.units import nbytes_text, parse_nbytes
from helpers.view.shared.mount import Spec

SIZES = [2**n for n in range(10, 35)]
VERSIONS = ("2.23.4", "2.26.2", "2.27.3", "2.27.5", "2.28.9", "2.29.2", "2.29.7", "2.30.7")
NODES = (1, 2, 3, 4, 8, 16, 32, 64, 128)
RACK = (2, 4, 8, 16, 36, 72)  # GPUs of one NVLink domain over many hosts, some of those there are
OFFERED = {
    name: machine
    for name, machine in MACHINES.items()
    if machine.shape == "switch" and (machine.nodes == 1 or machine.domain > machine.gpus)
}


@dataclass(frozen=True)
class ChoiceSpec(Spec):
    """The whole state of the widget. nodes: of `machine`, 1 for a rack; nranks: GPUs in all; beside: another version."""

    collective: str
    nbytes: int
    machine: str
    nodes: int
    nranks: int
    version: str
    beside: str

    def chosen(self, version: str = "") -> Choice:
        """What NCCL takes; the spec's own version unless told another."""
        where = placed(self.machine, self.nodes)
        return predict(self.collective, self.nbytes, where, self.nranks, version or self.version)

    def estimates(self) -> dict[tuple[str, str], Estimate]:
        """NCCL's start and rate of every candidate."""
        fabric = platform(placed(self.machine, self.nodes)).fabric(self.nranks)
        found = costs(self.collective, self.nbytes, fabric, release_of(self.version))
        return {(one.algorithm, one.protocol): one for one in found}

    def measured(self, version: str = "") -> float | None:
        """Seconds of a published run of exactly this; None where there is none."""
        told = (MACHINES[self.machine].accelerator, version or self.version, self.collective, self.nranks)
        for run in published() if self.nodes == 1 else ():
            if (run["gpu"], run["version"], run["collective"], run["nranks"]) == told:
                place = (self.nbytes // run["nbytes"]).bit_length() - 1
                return run["seconds"][place] if 0 <= place < len(run["seconds"]) else None
        return None


def racked(machine: Machine) -> bool:
    """Whether one NVLink domain joins GPUs of several hosts."""
    return machine.domain > machine.gpus


def placed(machine: str, nodes: int) -> Machine:
    """So many nodes of a machine; a rack as it is."""
    found = OFFERED[machine]
    return found if racked(found) else replace(found, nodes=nodes)


def ranks(machine: str, nodes: int) -> tuple[int, ...]:
    """How many GPUs may take part: some of one node, all of several."""
    found = OFFERED[machine]
    if racked(found):
        return tuple(n for n in RACK if n <= found.domain)
    return (nodes * found.gpus,) if nodes > 1 else tuple(range(2, found.gpus + 1))


@cache
def published() -> list[dict]:
    """The times of the public table by machine, version, collective and number of GPUs: from `nbytes` on, each of twice as many bytes.

    Only of rows that state their version: a folder's name was wrong where it could be checked (the table's `units`).
    """
    return [
        {
            "gpu": run.gpu,
            "version": run.version,
            "collective": run.collective,
            "nranks": run.nranks,
            "nbytes": run.by_size()[0][0],
            "seconds": [float(f"{seconds:.4g}") for _, seconds in run.by_size()],
        }
        for run in nvlink_runs()
        if run.stated and all(after == 2 * before for (before, _), (after, _) in pairwise(run.by_size()))
    ]


def choice_spec(
    machine: str = "HGX-H100",
    nbytes: int | str = "32 MiB",
    nranks: int | None = None,
    nodes: int = 1,
    collective: str = "all_reduce",
    version: str = "2.29.2",
    beside: str = "2.30.7",
) -> ChoiceSpec:
    """The state that the reader begins with; nranks: all GPUs unless told. ValueError naming what is offered."""
    among = {"machine": (machine, OFFERED), "collective": (collective, COLLECTIVES), "nodes": (nodes, NODES)}
    among |= {"version": (version, VERSIONS), "beside": (beside, VERSIONS)}
    for name, (value, offered) in among.items():
        if isinstance(value, bool) or value not in offered:
            raise ValueError(f"{name} must be one of {', '.join(map(str, offered))}, got {value!r}")
    if racked(OFFERED[machine]) and nodes > 1:
        raise ValueError(
            f"{machine} is one rack whose GPUs all reach each other by NVLink: nodes must be 1, got {nodes}"
        )
    size = parse_nbytes(nbytes)
    if isinstance(nbytes, bool) or size not in SIZES:
        few, many = nbytes_text(SIZES[0]), nbytes_text(SIZES[-1])
        raise ValueError(f"nbytes must be a power of two from {few} to {many}, got {nbytes!r}")
    fitting = ranks(machine, nodes)
    joined = fitting[-1] if nranks is None else nranks
    if isinstance(joined, bool) or joined not in fitting:
        raise ValueError(f"nranks must be one of {', '.join(map(str, fitting))}, got {nranks!r}")
    spec = ChoiceSpec(collective, size, machine, nodes, joined, version, beside)
    for one in (version, beside):
        spec.chosen(one)
    return spec
