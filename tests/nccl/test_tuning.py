"""NCCL's own model: its constants as the sources of each version have them, its thresholds, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.facts import FACTS, MACHINES, public
from helpers.nccl import LAUNCHES, Launch, NotPredicted, Platform, costs, launch_of, predict, release_of
from helpers.nccl.fabric import Fabric, channels, nvls, ring, tree
from helpers.nccl.platforms import LINKS, platform
from helpers.nccl.releases import LATEST, RELEASES

MIB, GIB = 2**20, 2**30
H100, H200, B200, A100 = (Platform(name, 8) for name in ("H100", "H200", "B200", "A100"))


def took(machine, nbytes, version, nranks=None, collective="all_reduce"):
    choice = predict(collective, nbytes, machine, nranks, version)
    return f"{choice.algorithm}/{choice.protocol}"


def test_the_search_gives_the_lines_that_machines_print():
    """H100: 12 channels of 30 and NVLS 40/60 (nccl#1197); A100: 12 of 20; after it the channels double."""
    release = release_of("2.27.7")
    h100, a100 = H100.fabric(), A100.fabric()
    assert (ring(h100, release).channels, ring(h100, release).inside) == (12, 30)
    assert (ring(a100, release).channels, ring(a100, release).inside) == (12, 20)
    heads = nvls(h100, release)
    assert heads and (heads.channels, heads.inside, heads.between) == (8, 40, 60)
    assert nvls(a100, release) is None and nvls(H100.fabric(2), release) is None
    two = Fabric("Hopper", 18, 8, nodes=2, ports=8, port=50.0)
    assert (ring(two, release).channels, ring(two, release).inside) == (12, 30)


def test_blackwell_fills_its_links_with_16_channels_of_45():
    for version, rung in (("2.28.9", 40), ("2.29.2", 45)):
        found = ring(B200.fabric(), release_of(version))
        assert (found.channels, found.inside) == (16, 45)
        assert tree(B200.fabric(), release_of(version)).inside == rung


@pytest.mark.parametrize(
    ("version", "between"), [("2.26.2", 32), ("2.27.7", 32), ("2.28.3", 16), ("2.28.9", 16), (LATEST, 16)]
)
def test_between_nodes_of_blackwell_2_28_3_halved_the_most_channels_and_inside_a_node_they_stayed(version, between):
    """Its release notes: "from 32 to 16 on Blackwell". In connect.cc, NVLS's 32 blocks no longer add channels to the rings'.

    Inside one domain of NVLink 2.29.7 was seen to print 32 channels and 24 of NVLS, on eight GB300.
    """
    release, nodes = release_of(version), Fabric("Blackwell", 18, 8, nodes=2, ports=8, port=50.0)
    assert channels(nodes, release) == between and channels(B200.fabric(), release) == 32
    whole = predict("all_reduce", 2**30, Platform("B200", 8, 2, 8, 50.0), version=version)
    assert {one.channels for one in whole.candidates if one.algorithm in ("Ring", "Tree")} == {between}
    assert {one.channels for one in whole.candidates if one.algorithm == "NVLS"} <= {between}


def test_on_8_h200_nccl_2_27_changes_from_a_ring_with_ll_to_nvls_at_2_mib():
    """As it was seen to (the table's page)."""
    table = public("torch-8xh200-all_reduce")
    for nbytes in table.column("nbytes"):
        assert took(H200, nbytes, "2.27.7") == ("Ring/LL" if nbytes <= MIB else "NVLS/Simple")


def test_nvls_is_taken_from_5_h200_and_6_b200_on():
    for row in public("nccl-tests-h200-b200-nvls").rows:
        machine = {"H200": H200, "B200": B200}[row["gpu"]]
        choice = predict("all_reduce", row["nbytes"], machine, row["nranks"], "2.27.7")
        assert choice.algorithm == row["algorithm"], row


def test_nvls_against_the_ring_at_8_gib_is_within_a_tenth_of_1_29():
    row = next(r for r in public("nccl-tests-h200-b200-nvls").rows if (r["gpu"], r["nranks"]) == ("H200", 8))
    choice = predict("all_reduce", 8 * GIB, H200, version="2.27.7")
    other = choice.candidate("Ring", "Simple")
    for gain in (other.corrected / choice.seconds, other.raw / choice.raw):
        assert gain == pytest.approx(row["busbw"] / row["busbw_nvls_off"], rel=0.1)
    assert row["gain"] == 1.29 and took(H200, 8 * GIB, "2.27.7", 4) == "Ring/Simple"


def test_the_raw_formula_of_8_h200_by_hand():
    """Ring/LL: 6.6 + 14 * 0.6 us, 141 * 8/14 GB/s. NVLS: 25 us, 8 * 40 * 5/6 GB/s; from 2.28 on 8 * 59.5 * 8/14."""
    for version, nvls_rate in (("2.27.7", 8 * 40 * 5 / 6), ("2.30.7", 8 * 2 * 40 * 0.85 * 7 / 8 * 8 / 14)):
        raw = {(c.algorithm, c.protocol): c.raw for c in predict("all_reduce", MIB, H200, version=version).candidates}
        assert raw["Ring", "LL"] == pytest.approx(15e-6 + MIB / (141e9 * 8 / 14))
        assert raw["NVLS", "Simple"] == pytest.approx(25e-6 + MIB / (nvls_rate * 1e9))
        assert raw["Ring", "Simple"] == pytest.approx((8.4 + 14 * 3.4) * 1e-6 + MIB / (360e9 * 8 / 14))
        assert raw["Ring", "LL128"] == pytest.approx((14 + 14 * 1.9) * 1e-6 + MIB / (0.92 * 360e9 * 8 / 14))
        assert raw["Tree", "LL"] == pytest.approx((6.8 + 14 * 0.6) * 1e-6 + MIB / (0.5 * 0.92 * 360e9 / 3.8 / 2))


def test_four_b200_with_2_29_2_lose_ll128_at_8_mib():
    """Its cap fell from 73.4 to 34.5 GB/s a channel and rose to 40 in 2.29.7: 85 us measured instead of 48."""
    assert [took(B200, 8 * MIB, v, 4) for v in ("2.28.9", "2.29.2", "2.29.3")] == ["Ring/LL128"] + ["Ring/Simple"] * 2
    caps = [release_of(v).ring_ll128["Blackwell"][0] for v in ("2.27.3", "2.28.9", "2.29.3", "2.29.7", LATEST)]
    assert caps == [73.4, 73.4, 34.5, 40, 40]


def test_a_version_decides_by_the_newest_rules_that_are_not_newer():
    names = {
        v: release_of(v).version
        for v in ("2.23.4", "2.25.1", "2.26.6", "2.27.5", "2.27.7", "2.29.2", "2.29.3", "2.30.7")
    }
    assert list(names.values()) == ["2.23", "2.23", "2.26", "2.27", "2.27.7", "2.29.2", "2.29.2", "2.30"]
    assert [release.number for release in RELEASES] == sorted(release.number for release in RELEASES)
    for version in ("2.22.3", "2.31.2", "2.32.6"):
        with pytest.raises(ValueError, match=r"2\.23 to 2\.30"):
            release_of(version)
    with pytest.raises(ValueError, match=r"2\.30\.7"):
        release_of("newest")
    with pytest.raises(ValueError, match="does not know Blackwell"):
        predict("all_reduce", MIB, B200, version="2.23.4")


def test_gathers_run_as_rings_by_default_on_8_h200():
    for collective in ("all_gather", "reduce_scatter"):
        assert took(H200, 16 * GIB, "2.27.7", collective=collective) == "Ring/Simple"


def test_several_nodes():
    """A double tree for short messages over many nodes, NVLSTree and rings for long ones; PAT only with one GPU a node."""
    many = Platform("H100", 8, nodes=16, ports=8, port=50.0)
    assert took(many, 64 * 1024, "2.30.7").startswith("Tree/")
    assert took(many, GIB, "2.30.7") == "NVLSTree/Simple"
    names = {c.algorithm for c in predict("all_gather", MIB, many).candidates}
    assert names == {"Ring"}
    single = Platform("H100", 1, nodes=16, ports=1, port=50.0)
    found = {c.algorithm: c.channels for c in predict("all_gather", MIB, single).candidates}
    assert found["PAT"] > 1 and found["PAT"] == max(found.values())
    choice = predict("all_reduce", MIB, many)
    assert choice.seconds == choice.raw and "raw formula" in choice.note and choice.nranks == 128


def test_a_ring_between_nodes_by_hand():
    """Two nodes of eight, AMD: 28 steps inside of at least 6 us with Simple, 2 between of 14; the plateau's factor 1.4."""
    fabric = Fabric("Hopper", 18, 8, nodes=2, ports=8, port=50.0, cpu="AMD")
    found = {(c.algorithm, c.protocol): c for c in costs("all_reduce", GIB, fabric, release_of())}
    assert found["Ring", "Simple"].latency == pytest.approx(1.4e-6 * (8.4 + 28 * 6 + 2 * 14))
    assert found["Ring", "LL"].latency == pytest.approx(1e-6 * (6.6 + 28 * 2 + 2 * 2.7))
    assert found["Ring", "LL"].bandwidth == pytest.approx(22.5e9 * 16 / 30)
    assert found["Tree", "LL128"].latency == pytest.approx(1e-6 * (14 + 2 * (7 * 1.25 + 8.5)))


def test_rooted_collectives_take_one_hop_behind_a_switch():
    line = predict("broadcast", MIB, H200).candidate("Ring", "Simple")
    assert line.raw == pytest.approx((8.4 + 3.4) * 1e-6 + MIB / 360e9) and line.corrected is None


def test_the_table_is_whole_and_sorted_by_what_nccl_sorts_by():
    choice = predict("all_reduce", MIB, H200)
    assert len(choice.candidates) == 7 and choice.candidates[0].raw == choice.raw
    assert [c.raw for c in choice.candidates] == sorted(c.raw for c in choice.candidates)
    assert choice.algbw == pytest.approx(MIB / choice.seconds) and choice.channels == 24
    lines = str(choice).splitlines()
    assert len(lines) == 8 and "Ring/LL" in lines[0] and lines[-1].endswith("-") and "µs" in lines[1]
    with pytest.raises(KeyError, match="NVLS/Simple"):
        choice.candidate("PAT", "Simple")


SWITCHED = [name for name, machine in MACHINES.items() if machine.shape == "switch"]


@pytest.mark.parametrize("name", SWITCHED)
def test_every_machine_with_a_switch_is_predicted(name):
    machine = MACHINES[name]
    for collective in ("all_reduce", "all_gather"):
        for nbytes in (1024, MIB, GIB):
            choice = predict(collective, nbytes, machine)
            assert choice.nranks == machine.gpus * machine.nodes and 1e-6 < choice.seconds < 0.02
    assert LINKS[platform(machine).generation] == FACTS[f"{machine.wire}.links"].number


@pytest.mark.parametrize("name", sorted(set(MACHINES) - set(SWITCHED)))
def test_without_a_switch_no_time_is_predicted(name):
    with pytest.raises(NotPredicted, match="spread"):
        predict("all_reduce", MIB, MACHINES[name])


def test_a_machine_of_the_facts_is_read_by_its_parts():
    assert platform(MACHINES["HGX-H200"]) == replace(H200, ports=8, port=50.0, launch=LAUNCHES["H200"])
    two = platform(MACHINES["2x8-IB"])
    assert (two.gpus, two.nodes, two.ports, two.port) == (8, 2, 8, 50.0)
    rack = platform(MACHINES["GB200-NVL72"])
    assert (rack.gpus, rack.nodes, rack.ports, rack.cpu) == (72, 1, 72, "Arm")
    assert predict("all_reduce", MIB, MACHINES["GB200-NVL72"], 8).nranks == 8


def test_what_cannot_be_predicted_is_said():
    with pytest.raises(NotPredicted, match="MI300X"):
        predict("all_reduce", MIB, Platform("MI300X", 8))
    for nbytes in (0, 1.5, True):
        with pytest.raises(ValueError, match="whole number"):
            predict("all_reduce", nbytes, H200)
    with pytest.raises(ValueError, match="all_to_all"):
        predict("all_to_all", MIB, H200)
    with pytest.raises(ValueError, match="whole nodes"):
        predict("all_reduce", MIB, H200, 12)
    with pytest.raises(ValueError, match="two GPUs"):
        predict("all_reduce", MIB, H200, 1)
    with pytest.raises(ValueError, match="network"):
        Fabric("Hopper", 18, 8, nodes=2)
    with pytest.raises(ValueError, match="generation"):
        Fabric("Rubin", 18, 8)
    with pytest.raises(ValueError, match=r"NCCL 2\.30 is as slow as a node's network: 1 ports of 2 GB/s"):
        predict("all_gather", MIB, Platform("H100", 8, nodes=2, ports=1, port=2.0))


def test_a_launch_is_given_or_that_of_a_like_gpu_and_the_note_says_so():
    own = predict("all_reduce", 1024, Platform("B300", 8))
    assert own.seconds == predict("all_reduce", 1024, B200).seconds and "as measured on B200" in own.note
    slow = predict("all_reduce", 1024, B200, launch=Launch(50e-6, 1e-6))
    assert 64e-6 < slow.seconds < 65e-6 and slow.raw == predict("all_reduce", 1024, B200).raw
    unknown = predict("all_reduce", 1024, Platform("V100", 8))
    assert unknown.seconds == unknown.raw and "launch_of" in unknown.note
    with pytest.raises(ValueError, match="hop takes some"):
        Launch(1e-6, 0)


def test_a_launch_is_fitted_to_small_messages_alone():
    rows = [("all_reduce", n, size, 5e-6 + 2 * (n - 1) * 1e-6) for n in (2, 4, 8) for size in (512, 4096)]
    rows += [("all_gather", n, 1024, 5e-6 + (n - 1) * 1e-6) for n in (2, 4)]
    found = launch_of([*rows, ("all_reduce", 8, 8192, 1.0)])
    assert (found.call, found.hop) == (pytest.approx(5e-6), pytest.approx(1e-6))
    assert set(LAUNCHES) == {"A100", "H100", "H200", "B200", "GB200"}
