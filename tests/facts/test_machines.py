"""Machines: their parts are known, their counts have sources, and a GPU's share of both networks follows."""

import pytest

from helpers.facts import ACCELERATORS, FACTS, MACHINES, FactError, lookup
from helpers.facts.book import BUILDS
from helpers.facts.machine import build_machines, part_name
from helpers.units import GB


def built(**changes):
    entry = {"title": "T", "accelerator": "H100", "wire": "nvlink-4", "shape": "switch", "of": "HGX-H100", **changes}
    return build_machines({"HGX-H100": BUILDS["HGX-H100"], "X": entry}, FACTS, ACCELERATORS)["X"]


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_a_machines_counts_are_facts_and_its_bandwidths_are_one_way_per_gpu(machine):
    assert machine.facts and machine.gpu in machine.facts and machine.title and machine.name in MACHINES
    assert machine.nranks == machine.gpus * machine.nodes
    for bandwidth in filter(None, (machine.inside, machine.across)):
        assert (bandwidth.direction, bandwidth.scope) == ("one way", "GPU")
    assert machine.domain in (machine.gpus, machine.nranks, 2) and machine.domain > 1
    assert (machine.across is None) == (machine.network is None)
    assert machine.across is None or machine.across.value < machine.inside.value


def test_what_a_machine_says_of_itself():
    assert str(MACHINES["2x8-IB"]) == (
        "2 nodes of 8 H100 over InfiniBand: 2 nodes of 8 H100, NVLink 4 by switch, 450 GB/s one way per GPU; "
        "between nodes 50 GB/s one way per GPU"
    )
    assert MACHINES["8x8-IB"].nranks == 64
    assert MACHINES["DGX-A100"].across.value == 25 * GB and MACHINES["DGX-A100"].cpu == "AMD"
    assert MACHINES["HGX-B200"].inside == lookup("nvlink-5.gpu").bandwidth


def test_every_machine_that_the_chapters_need_is_there():
    names = "DGX-A100 HGX-H100 HGX-H200 HGX-B200 HGX-B300 GB200-NVL72 GB300-NVL72 8xMI355X 8xL40S 4xPCIe 4xA40"
    rented = ["p4de.24xlarge", "p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "a3-megagpu-8g", "a3-ultragpu-8g"]
    assert sorted(MACHINES) == sorted([*names.split(), *rented, "2x8-IB", "8x8-IB", "2x8-RoCE"])
    assert {MACHINES[name].across.value * 8 / GB for name in rented} == {50, 400, 200}
    assert {machine.shape for machine in MACHINES.values()} == {"switch", "mesh", "bridges", "host"}


def test_a_rack_is_one_domain_of_many_nodes():
    for name, port in (("GB200-NVL72", 50), ("GB300-NVL72", 100)):
        rack = MACHINES[name]
        assert (rack.gpus, rack.nodes, rack.nranks, rack.domain) == (4, 18, 72, 72)
        assert rack.inside.value == 900 * GB and rack.across.value == port * GB


def test_in_a_mesh_a_pair_has_its_own_link_only_and_under_a_bridge_all_of_it():
    assert MACHINES["8xMI355X"].pair == lookup("xgmi-mi355x.link").bandwidth.times(1, "GPU")
    assert MACHINES["4xA40"].pair == MACHINES["4xA40"].inside == lookup("A40.nvlink").bandwidth
    assert MACHINES["4xA40"].domain == 2 and MACHINES["HGX-H100"].pair.value == 450 * GB


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_a_machines_wire_is_the_one_of_its_accelerator(machine):
    if machine.wire.startswith("nvlink"):
        assert lookup(f"{machine.accelerator}.nvlink").bandwidth == machine.inside
    if machine.card:
        assert lookup(f"{machine.card}.card").bandwidth.value == machine.port.bandwidth.value


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("nvlink-4", "NVLink 4"),
        ("nvlink-3-bridge", "NVLink 3 bridge"),
        ("infiniband-ndr", "InfiniBand NDR"),
        ("xgmi-mi300x", "xGMI MI300X"),
        ("roce-400", "RoCE 400"),
        ("pcie-5", "PCIe 5"),
        ("connectx-8", "ConnectX 8"),
    ],
)
def test_parts_have_names(key, name):
    assert part_name(key) == name


def test_gpus_share_ports_where_they_are_more():
    assert built().across.value == 50 * GB
    half = build_machines(
        {"X": {**BUILDS["HGX-H100"], "facts": {"gpus": {}, "nics": {}}}}, _counted(nics=4), ACCELERATORS
    )
    assert half["X"].across.value == 25 * GB


def _counted(nics):
    fact = FACTS["HGX-H100.nics"]
    return {
        **FACTS,
        "X.gpus": FACTS["HGX-H100.gpus"],
        "X.nics": type(fact)(**{**vars(fact), "key": "X.nics", "value": nics}),
    }


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"accelerator": "H100000"}, "not found: .*H100000"),
        ({"wire": "nvlink-9"}, r"not found: .*nvlink-9\.gpu"),
        ({"network": "pigeons"}, r"not found: .*pigeons\.port"),
        ({"switch": "nvswitch-9"}, "not found: .*nvswitch-9"),
        ({"pcie": "pcie-9"}, "not found: .*pcie-9"),
        ({"card": "connectx-99"}, "not found: .*connectx-99"),
        ({"shape": "heap"}, "shape is one of switch, mesh, bridges, host, got 'heap'"),
        ({"cpu": "Z80"}, "cpu is one of Intel, AMD, Arm, got 'Z80'"),
        ({"nodes": 0}, "nodes is a positive whole number, got 0"),
    ],
)
def test_a_machine_of_unknown_parts_is_refused(changes, words):
    with pytest.raises(FactError, match=words):
        built(**changes)


def test_nodes_without_a_network_between_them_are_no_machine():
    whole = {part: value for part, value in BUILDS["HGX-H100"].items() if part != "network"}
    lonely = {**whole, "nodes": 2, "facts": {"gpus": {}}}
    with pytest.raises(FactError, match="2 nodes need a network, or one domain of 16 GPUs"):
        build_machines({"X": lonely}, _counted(8), ACCELERATORS)
    with pytest.raises(FactError, match="NICs and their network go together, got 8 and None"):
        build_machines({"X": {**lonely, "facts": {"gpus": {}, "nics": {}}}}, _counted(8), ACCELERATORS)
