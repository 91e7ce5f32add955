"""What the facts state of NVLink by protocol, worked out again from the public tables; and what it then says of rings and switches."""

from statistics import mean

import pytest

from helpers.collectives import CATALOGUE, price
from helpers.facts import FACTS, LINKS, public
from helpers.nccl import PROTOCOLS
from helpers.nccl.fabric import Fabric, nvls
from helpers.nccl.launch import FITTED
from helpers.nccl.lines import ll_line
from helpers.nccl.releases import BASE, HOP, PROTOCOL_ORDER, release_of
from helpers.units import GIB, KIB, MIB

GB = 1e9
ROWS = "nccl-tests-h200-b200-nvls"
FITTED_TO = {"nvlink-3": ["A100"], "nvlink-4": ["H100", "H200"], "nvlink-5": ["B200"]}
# And from how many GPUs on NCCL takes NVLS
SWITCHED = {"nvlink-4": ("H200", "Hopper", 5), "nvlink-5": ("B200", "Blackwell", 6)}
RING, NVLS = CATALOGUE["all_reduce", "ring"], CATALOGUE["all_reduce", "nvls"]


@pytest.mark.parametrize(("slug", "gpus"), FITTED_TO.items())
def test_a_link_is_the_fit_of_the_public_table(slug, gpus):
    line, link = ll_line(gpus), LINKS[slug]
    ll, ll128, simple = (link.by(name) for name in ("LL", "LL128", "Simple"))
    assert ll.call == ll128.call == pytest.approx(line.call, abs=0.005e-6)
    assert ll.alpha == pytest.approx(line.step, abs=0.005e-6)
    assert ll.bandwidth.value == pytest.approx(line.bandwidth, rel=1e-3)
    hops = HOP["NVLink"]["Ring"]
    for one in (ll128, simple):
        assert one.alpha == pytest.approx(ll.alpha * hops[PROTOCOL_ORDER.index(one.protocol)] / hops[0], rel=1e-4)
    assert simple.call - ll.call == pytest.approx(1e-6 * BASE["Ring"][PROTOCOL_ORDER.index("Simple")])
    assert ll128.bandwidth.value == pytest.approx(PROTOCOLS["LL128"].efficiency * link.bandwidth.value)


def test_nvlink_5_is_what_rings_of_b200_reach():
    rows = [row for row in public(ROWS).rows if row["gpu"] == "B200" and row["nranks"] > 4]
    assert mean(row["busbw_nvls_off"] for row in rows) * GB == pytest.approx(LINKS["nvlink-5"].bandwidth.value)


@pytest.mark.parametrize(("slug", "made"), SWITCHED.items())
def test_a_switch_passes_what_was_measured(slug, made):
    gpu, generation, first = made
    rows = [row for row in public(ROWS).rows if (row["gpu"], row["algorithm"]) == (gpu, "NVLS")]
    # busbw is counted for a ring; through the port go 1 + 1/nranks buffers
    rates = [row["busbw"] * GB * (row["nranks"] + 1) / (2 * (row["nranks"] - 1)) for row in rows]
    switch = LINKS[slug].switch
    assert len(rates) == 9 - first
    assert switch.bandwidth.value == pytest.approx(mean(rates), rel=0.003)
    assert all(abs(rate / switch.bandwidth.value - 1) < 0.015 for rate in rates)
    assert switch.call - LINKS[slug].by("LL").call == pytest.approx(3 * FITTED["shared"]["nvls_stage"]["value"])
    graph = nvls(Fabric(generation, 18, 4), release_of("2.27.7"))
    assert switch.head.value == pytest.approx(graph.between * GB * 5 / 6)


@pytest.mark.parametrize(("slug", "made"), SWITCHED.items())
@pytest.mark.parametrize("nbytes", [64 * MIB, GIB, 8 * GIB])
def test_the_switch_beats_the_ring_from_as_many_gpus_on_as_nccl_says(slug, made, nbytes):
    faster = [
        p
        for p in range(2, 9)
        if price(NVLS(p), nbytes, LINKS[slug]).seconds < price(RING(p), nbytes, LINKS[slug]).seconds
    ]
    assert faster == list(range(made[2], 9))


def test_the_switch_beats_the_ring_from_the_size_on_that_nccl_says():
    """8 H200: Ring with LL up to 1 MiB, NVLS from 2 MiB on (NCCL 2.27.7)."""
    link, sizes = LINKS["nvlink-4"], [2**k for k in range(3, 34)]
    rings = {n: price(RING(8), n, link) for n in sizes}
    wins = [n for n in sizes if price(NVLS(8), n, link).seconds < rings[n].seconds]
    assert wins == [n for n in sizes if n >= 2 * MIB]
    assert rings[MIB].protocol == rings[8].protocol == "LL" and rings[8 * GIB].protocol == "Simple"


def test_the_switch_costs_one_buffer_and_one_more_of_all_ranks():
    link = LINKS["nvlink-4"]
    cost = price(NVLS(8), GIB, link)
    line = link.switch.line(8)
    assert cost.seconds == pytest.approx(line.call + (1 + 1 / 8) * GIB * line.beta)
    for slices in (1, 4, 32):  # however the picture cuts it
        assert price(NVLS(8, slices), GIB, link).seconds == pytest.approx(cost.seconds)
    assert cost.call == line.call and cost.protocol == "Simple"
    assert sum(step.seconds for step in cost.steps) == pytest.approx(cost.seconds - cost.call)


def test_eight_gibibytes_by_switch_and_by_ring_are_near_the_measured_ratio():
    """1.29 on 8 H200."""
    ring, switch = (price(build(8), 8 * GIB, LINKS["nvlink-4"]).seconds for build in (RING, NVLS))
    assert ring / switch == pytest.approx(1.29, rel=0.1)


@pytest.mark.parametrize("gpu", ["H100", "H200"])
def test_short_messages_take_what_was_measured(gpu):
    """All_reduces up to 64 KiB, 2 to 8 GPUs: a line with one call and one step for all."""
    from helpers.nccl.runs import nvlink_runs

    off = [
        price(RING(run.nranks), n, LINKS["nvlink-4"]).seconds / seconds - 1
        for run in nvlink_runs()
        if run.gpu == gpu and run.collective == "all_reduce"
        for n, seconds in run.by_size()
        if n <= 64 * KIB
    ]
    assert len(off) > 20 and max(map(abs, off)) < 0.25


def test_every_latency_is_a_fact():
    for link in LINKS.values():
        assert [one.protocol for one in link.protocols][-1] == "Simple" == link.protocol
        assert all(fact in FACTS.values() for fact in link.sources)
        assert link.alpha == link.by("Simple").alpha and link.bandwidth == link.by("Simple").bandwidth
        with pytest.raises(ValueError, match=r"knows LL, .*got 'll'"):
            link.by("ll")
