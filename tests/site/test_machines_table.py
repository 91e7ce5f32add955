"""The generated tables of machines, wires and ports: what a cell says is the fact's, and nothing bare stands in one."""

import pytest
from docutils import nodes

from helpers.facts import FACTS, MACHINES, lookup
from website.machines_table import (
    CHIPS,
    WIRES,
    MachinesDirective,
    PortsDirective,
    WiresDirective,
    machine_row,
    ports_row,
    wire_row,
)


def said(row: list[list[nodes.Node]]) -> list[str]:
    return [", ".join(part.astext() for part in cell) for cell in row]


def made(directive, *names):
    own = object.__new__(directive)
    own.arguments = list(names)
    return own.tables()


def test_a_machine_row_by_row():
    assert said(machine_row(MACHINES["HGX-H100"]))[1:] == [
        "8 H100",
        "NVLink 4, 450 GB/s",
        "NVSwitch 3",
        "8 × InfiniBand NDR, 50 GB/s a GPU",
    ]
    assert said(machine_row(MACHINES["GB300-NVL72"]))[1:] == [
        "18 nodes of 4 GB300",
        "NVLink 5, 900 GB/s",
        "NVSwitch 4, 72 GPUs",
        "4 × InfiniBand XDR, 100 GB/s a GPU",
    ]
    joined = {name: said(machine_row(MACHINES[name]))[3] for name in ("8xMI355X", "4xA40", "8xL40S")}
    assert joined == {
        "8xMI355X": "a link to each other GPU, 76.8 GB/s one way",
        "4xA40": "a bridge for every two, then PCIe",
        "8xL40S": "PCIe and the processors",
    }


@pytest.mark.parametrize("name", MACHINES)
def test_every_machine_has_a_row_with_its_sources(name):
    cells = machine_row(MACHINES[name])
    links = {link["refuri"] for cell in cells for part in cell for link in part.findall(nodes.reference)}
    assert links == {
        fact.source_url for fact in MACHINES[name].facts if fact.key.rpartition(".")[2] in ("gpus", "gpu", "port")
    }


def test_wires_stand_by_kind_and_say_both_ways_of_what_is_one_way():
    assert [wire for wire in WIRES if wire.startswith("nvlink")] == [
        *("nvlink-2", "nvlink-3", "nvlink-3-bridge", "nvlink-4", "nvlink-5", "nvlink-6")
    ]
    assert said(wire_row("nvlink-4")) == ["NVLink 4", "25 GB/s", "18", "450 GB/s", "900 GB/s", "20.6 GB/s"]
    assert said(wire_row("nvlink-6")) == ["NVLink 6", "–", "–", "1800 GB/s", "3600 GB/s", "–"]
    assert said(wire_row("pcie-3"))[1:] == ["15.75 GB/s", "1", "15.75 GB/s", "31.5 GB/s", "12 GB/s"]
    for wire in WIRES:
        assert lookup(f"{wire}.gpu").bandwidth.direction == "one way" and len(wire_row(wire)) == 6


def test_chips_have_the_sum_of_their_ports():
    assert said(ports_row("nvswitch-4")) == ["NVSwitch 4", "72", "3600 GB/s", "7200 GB/s"]
    assert said(ports_row("connectx-8"))[1:3] == ["–", "800 Gb/s"]
    assert {FACTS[key].scope for chip in CHIPS for key in (f"{chip}.chip", f"{chip}.card") if key in FACTS} == {"chip"}


@pytest.mark.parametrize(
    ("directive", "names", "rows"),
    [(MachinesDirective, MACHINES, 2), (WiresDirective, WIRES, 2), (PortsDirective, CHIPS, 2)],
)
def test_a_table_has_the_rows_asked_for_or_all(directive, names, rows):
    whole, asked = made(directive)[0], made(directive, *list(names)[:rows])[0]
    assert len(next(iter(whole.findall(nodes.tbody))).children) == len(names)
    assert len(next(iter(asked.findall(nodes.tbody))).children) == rows
    with pytest.raises(ValueError, match="unknown nonesuch: expected some of"):
        made(directive, "nonesuch")
