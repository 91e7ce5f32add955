"""AMD's own tools tell the ways between its GPUs: rocm-smi --showtopo and amd-smi topology, as text and as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from helpers.yours import is_my_number_good

FAULT = (Path(__file__).parents[1] / "faults" / "09-rocm-showtopo.txt").read_text()
RULE = "=" * 35


def xgmi(one, other):
    return ("XGMI", 1)


def pcie(one, other):
    return ("PCIE", 2)


def sockets(one, other):
    return ("PCIE", 2 if one // 2 == other // 2 else 3)


def bridges(one, other):
    """Pairs under a bridge, as two W6800X Duo."""
    return ("XGMI", 1) if one // 2 == other // 2 else ("PCIE", 2)


def hives(one, other):
    """Two of four, as MI100 are joined."""
    return ("XGMI", 1) if one // 4 == other // 4 else ("PCIE", 3)


def table(names, cell, width=13):
    rows = [" " * width + "".join(f"{name:<{width}}" for name in names)]
    rows += [
        f"{one:<{width}}" + "".join(f"{cell(at, to):<{width}}" for to in range(len(names)))
        for at, one in enumerate(names)
    ]
    return "\n".join(rows)


def rocm(gpus, way, numa=True):
    """rocm-smi --showtopo."""
    names = [f"GPU{n}" for n in range(gpus)]
    parts = {
        "Weight": lambda at, to: 0 if at == to else {1: 15, 2: 40, 3: 72}[way(at, to)[1]],
        "Hops": lambda at, to: 0 if at == to else way(at, to)[1],
        "Link Type": lambda at, to: 0 if at == to else way(at, to)[0],
    }
    text = "\n\n".join(f"{RULE} {name} between two GPUs {RULE}\n{table(names, cell)}" for name, cell in parts.items())
    nodes = [
        f"GPU[{n}]\t\t: (Topology) Numa Node: {n // 4}\nGPU[{n}]\t\t: (Topology) Numa Affinity: {n // 4}"
        for n in range(gpus)
    ]
    tail = f"{RULE} Numa Nodes {RULE}\n" + "\n".join(nodes) if numa else ""
    return f"\n\n{RULE} ROCm System Management Interface {RULE}\n{text}\n\n{tail}\n{RULE} End of ROCm SMI Log {RULE}\n"


def amd(gpus, way, closed=False):
    """amd-smi topology."""
    names = [f"0000:{16 * n + 5:02x}:00.0" for n in range(gpus)]
    parts = {
        "ACCESS": lambda at, to: "DISABLED" if closed and at != to else "ENABLED",
        "WEIGHT": lambda at, to: 0 if at == to else 15,
        "HOPS": lambda at, to: 0 if at == to else way(at, to)[1],
        "LINK TYPE": lambda at, to: "SELF" if at == to else way(at, to)[0],
        "NUMA BW": lambda at, to: "N/A" if at == to else "50000-50000",
    }
    return "\n".join(f"{name} TABLE:\n{table(names, cell)}\n" for name, cell in parts.items())


def as_json(gpus, way, closed=False):
    def link(one, to):
        kind, hops = ("SELF", 0) if one == to else way(one, to)
        status = "DISABLED" if closed and one != to else "ENABLED"
        return {"gpu": to, "link_type": kind, "num_hops": hops, "link_status": status, "weight": 15}

    return json.dumps([{"gpu": n, "links": [link(n, to) for to in range(gpus)]} for n in range(gpus)], indent=4)


VARIANTS = {
    "eight MI300X": (rocm(8, xgmi), 8, ()),
    "without NUMA nodes": (rocm(4, xgmi, numa=False), 4, ()),
    "amd-smi, eight MI300X": (amd(8, xgmi), 8, ()),
    "amd-smi, JSON": (as_json(8, xgmi), 8, ()),
    "two W7900 in a workstation": (rocm(2, pcie), 2, ()),
    "four over two sockets": (rocm(4, sockets), 4, ()),
    "pairs under bridges": (rocm(4, bridges), 4, ("wrong path",)),
    "amd-smi, pairs under bridges": (amd(4, bridges), 4, ("wrong path",)),
    "the IOMMU closes the ways": (amd(2, pcie, closed=True), 2, ("no P2P",)),
    "the same as JSON": (as_json(2, pcie, closed=True), 2, ("no P2P",)),
    "behind a host's name": ("\n".join(f"mi-7: {line}" for line in rocm(4, xgmi).split("\n")), 4, ()),
    "tabs in place of blanks": (
        "\n".join(line if "TABLE" in line else "\t".join(line.split()) for line in amd(4, xgmi).split("\n")),
        4,
        (),
    ),
    "quoted": ("\n".join(f"> {line}" for line in rocm(2, xgmi).split("\n")), 2, ()),
    "two hives of four, spaces collapsed": (" ".join(re.split(" +", rocm(8, hives))), 8, ("wrong path",)),
    "as rocm-smi of 2021 names its GPUs": (rocm(4, xgmi).replace("GPU[", "GPU ").replace("]\t", "  "), 4, ()),
    "one GPU": (rocm(1, xgmi), 1, ()),
}


@pytest.mark.parametrize(
    ("text", "gpus", "accused"), [(FAULT, 2, ()), *VARIANTS.values()], ids=["the fault", *VARIANTS]
)
def test_what_amds_tools_print_is_a_topology(text, gpus, accused):
    found = is_my_number_good(text)
    assert (found.refused, found.kind, found.accused) == ("", "topology", accused)
    assert found.what.startswith(f"a machine of {gpus} GPU") and ("rocm-smi" in found.what or "amd-smi" in found.what)
    assert all(one.repair == "p2p" for one in found.causes if one.name == "no P2P")


def test_ways_are_named_and_rings_stay_on_links():
    assert "XGMI (by xGMI, AMD's link between GPUs). No pair is worse." in is_my_number_good(rocm(8, xgmi)).sentence
    assert (
        "its worst hop is GPU1 to GPU2, SYS (through PCIe and between CPU sockets)"
        in is_my_number_good(rocm(4, sockets)).sentence
    )
    assert "though some pairs have xGMI" in is_my_number_good(rocm(4, bridges)).causes[0].why
    slow = is_my_number_good(rocm(2, pcie)).causes[0]
    assert (slow.name, slow.accuses) == ("wrong path", False) and "PCIe and the processor" in slow.why


def test_what_is_not_whole_is_refused():
    text = rocm(4, xgmi)
    cut = text[: text.rindex("GPU3   ")]
    assert "has no row of GPU3" in is_my_number_good(cut).refused
    types = text.index(f"{RULE} Link Type")
    assert "a table of link types, and the text has none" in is_my_number_good(text[:types]).refused
    for name in (*(f"CACHE COHER{a}NCY" for a in "AE"), "ATOMICS", "DMA", "BI-DIRECTIONAL"):
        other = (
            amd(4, xgmi)
            .replace("LINK TYPE", name)
            .replace("HOPS", name)
            .replace("ACCESS", name)
            .replace("WEIGHT", name)
        )
        assert "amd-smi topology -t print" in is_my_number_good(other).refused
    assert "stands XGMI or PCIE, got 'XXXX'" in is_my_number_good(text.replace("XGMI", "XXXX")).refused
    assert (
        "4 cells behind its name, got 3" in is_my_number_good(amd(4, xgmi).replace("XGMI         \n", "\n", 1)).refused
    )
    assert "this is no whole JSON of amd-smi topology: Expecting" in is_my_number_good(as_json(2, xgmi)[:-9]).refused
    assert "a list of GPUs, each with its links" in is_my_number_good('[{"link_type": 1}]').refused
