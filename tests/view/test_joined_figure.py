"""The picture of a machine's ways: the ring is the rim, NVLinks are solid, and its table has every pair."""

from pathlib import Path

import pytest

from helpers.nccl import parse_topo
from helpers.view.figures.network.joined import RIM, joined
from helpers.view.figures.show import chart
from helpers.view.figures.twin import twin
from helpers.view.shared.tokens import colour

TEXTS = Path(__file__).parents[1] / "nccl" / "output" / "topologies"


def drawn(name, cards=False):
    topology = parse_topo((TEXTS / f"{name}.txt").read_text())
    near = {gpu: topology.nearest(gpu) for gpu in topology.gpus} if cards else None
    return topology, joined(topology.ways, topology.best_ring().order, "A finding", near)


def ends(trace):
    return (len(trace.x) + 1) // 3


def test_the_rim_is_the_ring_and_on_top():
    topology, figure = drawn("8xv100-hypercube")
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert (lines[-1].line.width, lines[-1].line.color, ends(lines[-1])) == (RIM, colour("accent"), 8)
    assert {trace.line.dash: ends(trace) for trace in lines[:-1]} == {"solid": 8, "dot": 12}
    words = next(trace for trace in figure.data if trace.mode == "text")
    assert words.text == ("NV2",) * 8 and len(topology.gpus) == 8


def test_gpus_stand_in_the_rings_order_from_the_top():
    topology, figure = drawn("8xv100-hypercube")
    marks = next(trace for trace in figure.data if trace.mode == "markers+text")
    assert marks.text == tuple(gpu.removeprefix("GPU") for gpu in topology.best_ring().order)
    assert (marks.x[0], marks.y[0]) == (0, 1) and marks.x[1] > 0


def test_a_ring_over_pcie_is_dotted():
    _, figure = drawn("5-pcie-workstation")
    assert {trace.line.dash for trace in figure.data if trace.mode == "lines"} == {"dot"}


def test_cards_stand_beside_their_gpu():
    _, figure = drawn("8xa100-10-nics", cards=True)
    assert "NIC4<br>NIC5" in next(trace for trace in figure.data if trace.text and "NIC" in trace.text[0]).text


def test_its_table_has_every_pair():
    rows = twin(drawn("8xv100-hypercube")[1]).rows
    assert len(rows) == 28 and sum(row[3] == "yes" for row in rows) == 8 and ("GPU0", "GPU6", "NV2", "yes") in rows
    assert "<td>NODE</td>" in chart(drawn("5-pcie-workstation")[1], "ways", "A caption.")["text/html"]


@pytest.mark.parametrize("name", ["2xrtx5090", "4-pcie-soc", "8xh100-8-nics"])
def test_every_machine_is_drawn(name):
    topology, figure = drawn(name)
    told = figure.data[-1]
    assert len(told.customdata) == len(topology.gpus) * (len(topology.gpus) - 1) // 2
    assert {tuple(row[2:3]) for row in told.customdata} == {(edge.way,) for edge in topology.edges(topology.gpus)}


@pytest.mark.parametrize(
    ("ways", "ring", "says"),
    [
        ({}, [], "at least one, got none"),
        ({}, ["GPU0", "GPU0"], "names each GPU once"),
        ({}, ["GPU0", "GPU1"], "got none of GPU0 and GPU1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(ways, ring, says):
    with pytest.raises(ValueError, match=says):
        joined(ways, ring, "A finding")
