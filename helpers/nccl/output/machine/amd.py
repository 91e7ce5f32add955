"""Reads AMD's tools: the ways of `rocm-smi --showtopo` and `amd-smi topology`, and rocm-smi's table of GPUs. Chapter: interconnects.

After rocm_smi.py (rocm_smi_lib a129571, 2024-10: showHwTopology, showAccessibleTopology, showAllConcise) and amdsmi_commands.py (amdsmi
0ceca28, 2024-10: topology, also its JSON). Both print a table each of weights, hops and link types, the second by PCIe addresses; only
the link type (XGMI or PCIE) and the hops are read. Two hops over PCIe are GPU, processor, GPU; three cross to another processor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

from helpers.nccl.output.machine.grids import below
from helpers.nccl.output.machine.topology import Topology
from helpers.nccl.output.tables.cleaned import cleaned
from helpers.nccl.output.tables.errors import TopologyError
from helpers.plain_json import read_json

SIGN = re.compile(
    r"(?:Weight|Hops|Link Type|Link accessibility) between two GPUs|\(Topology\) Numa|"
    r"^\W*(?:ACCESS|WEIGHT|HOPS|LINK TYPE|NUMA BW|CACHE COHER[AE]NCY|ATOMICS|DMA|BI-DIRECTIONAL) TABLE",
    re.MULTILINE,
)
TABLE = re.compile(r"\bPwrCap +VRAM% +GPU%", re.ASCII)
_GPU_ROW = re.compile(
    r"(?:^|\s)(\d{1,12})\s.*?(\d{1,12}(?:\.\d{1,12})?)W\s.*?(\d{1,12})M[Hh]z\s+\d{1,12}M[Hh]z\s+\S+\s+(\w+)\s+(\d{1,12}(?:\.\d{1,12})?)W\s+(?:(\d{1,12})%|N/A)\s+(?:(\d{1,12})%|N/A)\s*$",
    re.ASCII,
)
_TITLE = re.compile(
    r"=* *((?:Weight|Hops|Link Type|Link accessibility) between two GPUs) *=*|((?:ACCESS|WEIGHT|HOPS|LINK TYPE) TABLE):?"
)
_GPU = re.compile(r"GPU\d{1,12}|[\da-fA-F]{4,8}:[\da-fA-F]{2}:[\da-fA-F]{2}\.\d", re.ASCII)
_NUMA = re.compile(r"GPU *\[?(\d{1,12})\]?\s*: *\(Topology\) Numa Node: *(-?\d{1,12})", re.ASCII)
_TABLES = ("link type", "hops", "access", "weight")
_WIDEST = 400  # letters of a row
_OFF = ("DISABLED", "False", "0")


class AmdGpu(NamedTuple):
    """A row of rocm-smi. power, cap: watts; clock: Hz; level: of performance, "auto" as a rule; memory, busy: percent or None."""

    number: int
    power: float
    clock: float
    level: str
    cap: float
    memory: float | None
    busy: float | None


def parse_rocm_smi(text: str) -> tuple[AmdGpu, ...]:
    """The GPUs of rocm-smi's table, since 2020 and as it is in ROCm 6; those whose row does not fit are not here."""
    lines = (line.text for line in cleaned(text) if len(line.text) < _WIDEST)
    return tuple(_row(found) for line in lines if (found := _GPU_ROW.search(line)))


def _row(found: re.Match[str]) -> AmdGpu:
    memory, busy = (float(part) if part else None for part in (found[6], found[7]))
    return AmdGpu(int(found[1]), float(found[2]), float(found[3]) * 1e6, found[4], float(found[5]), memory, busy)


def parse_amd(text: str) -> Topology:
    """TopologyError where no link types are told; MachineError for a table that is damaged."""
    tables: dict[str, Mapping[tuple[str, str], str]] = {}
    columns: tuple[str, ...] = ()
    for one in below(list(cleaned(text)), _title, _columns):
        columns = columns or one.columns
        tables.setdefault(one.title, one.pairs())
    kinds, hops, access = (tables.get(name, {}) for name in ("link type", "hops", "access"))
    if "link type" not in tables:
        raise TopologyError(
            "AMD's tools tell XGMI from PCIE in a table of link types, and the text has none: rocm-smi --showtopo and amd-smi topology -t"
            " print it"
        )
    tool = "rocm-smi --showtopo" if columns[0].startswith("GPU") else "amd-smi topology"
    numa = {f"GPU{gpu}": None if node.startswith("-") else node for gpu, node in _NUMA.findall(text)}
    return _topology(tool, columns, kinds, hops, access, numa)


def parse_amd_json(text: str) -> Topology:
    """`amd-smi topology --json`: a list of GPUs with their links."""
    try:
        gpus = read_json(text)
    except (ValueError, RecursionError) as error:
        raise TopologyError(f"this is no whole JSON of amd-smi topology: {error}") from None
    if not isinstance(gpus, list) or not all(
        isinstance(gpu, dict) and isinstance(gpu.get("links"), list) for gpu in gpus
    ):
        raise TopologyError("amd-smi topology --json prints a list of GPUs, each with its links")
    links = {
        (str(gpu.get("gpu")), str(to.get("gpu"))): to for gpu in gpus for to in gpu["links"] if isinstance(to, dict)
    }
    kinds, hops, access = (
        {pair: str(to.get(name, "")) for pair, to in links.items() if pair[0] != pair[1]}
        for name in ("link_type", "num_hops", "link_status")
    )
    return _topology("amd-smi topology", [str(gpu.get("gpu")) for gpu in gpus], kinds, hops, access, {})


def _title(text: str) -> str | None:
    found = _TITLE.fullmatch(text.strip())
    if not found:
        return None
    name = (found[1] or found[2]).lower()
    return next(word for word in _TABLES if word in name)


def _columns(text: str) -> Sequence[str]:
    words = text.split()
    return words if all(map(_GPU.fullmatch, words)) else ()


def _topology(
    tool: str,
    names: Sequence[str],
    kinds: Mapping[tuple[str, str], str],
    hops: Mapping[tuple[str, str], str],
    access: Mapping[tuple[str, str], str],
    numa: Mapping[str, str | None],
) -> Topology:
    gpus = {name: f"GPU{place}" for place, name in enumerate(names)}
    ways, closed = {}, []
    for pair in permutations(names, 2):
        way, named = _way(kinds.get(pair, ""), hops.get(pair, "")), (gpus[pair[0]], gpus[pair[1]])
        if not way:
            raise TopologyError(f"between {' and '.join(pair)} stands XGMI or PCIE, got {kinds.get(pair, 'nothing')!r}")
        ways[named] = way
        closed += [named] if access.get(pair) in _OFF else []
    none: dict[str, str | None] = dict.fromkeys(gpus.values())
    return Topology(tuple(none), ways, {}, none, none | dict(numa), tool=tool, closed=tuple(closed))


def _way(kind: str, hops: str) -> str:
    if kind == "XGMI":
        return "XGMI"
    return ("SYS" if re.fullmatch(r"[3-9]", hops) else "PCIE") if kind == "PCIE" else ""
