"""The numbers that decide a verdict, each from both of its sides, and what a name stands for."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest
from made_tables import run, times

from helpers.nccl import Candidate
from helpers.nccl.published import CURVES
from helpers.nccl.published import published as curves
from helpers.units import MIB
from helpers.yours import is_my_number_good
from helpers.yours.causes import KINDS, cause
from helpers.yours.logs.judged import _nics
from helpers.yours.places import accelerator_of
from helpers.yours.tables.curves import curve_of_bench
from helpers.yours.tables.printing import printed
from helpers.yours.tables.published import published
from helpers.yours.tables.suspects import simple_alone

BOOK = Path(__file__).parents[2] / "book"


def verdict(made, gpu="H200", nranks=8, version="2.29.2"):
    return is_my_number_good(printed(gpu, "all_reduce", nranks, version, made))


@pytest.mark.parametrize(("share", "accused"), [(0.72, ()), (0.68, ("slow link",))])
def test_less_than_seven_tenths_of_the_plateau_is_slow(share, accused):
    """Sizes from 16 MiB on, which are the links', all by one factor; on A100 no switch adds that could be off."""
    healthy = times(run("A100", version="2.27.3"))
    factor = verdict(healthy, "A100", version="2.27.3").plateau_share / share
    slow = {n: took * (factor if n >= 16 * MIB else 1) for n, took in healthy.items()}
    found = verdict(slow, "A100", version="2.27.3")
    assert found.plateau_share == pytest.approx(share, rel=0.02) and found.accused == accused, str(found)


def test_a_table_without_small_sizes_tells_nothing_of_the_launch():
    large = {n: max(took, 1e-3) for n, took in times(run("H100")).items() if n >= MIB}
    assert "host-bound" not in verdict(large, "H100").accused


@pytest.mark.parametrize(("last", "early"), [(8 * MIB, True), (16 * MIB, False)])
def test_a_table_that_ends_below_16_mib_tells_no_plateau(last, early):
    found = verdict({n: took for n, took in times(run("H200")).items() if n <= last})
    assert ("before a plateau shows" in found.sentence) == early


def test_three_published_runs_stand_beside_it():
    found = verdict(times(run("H200"))).nearest
    assert len(found) == 3 and all("8 H200" in one.title for one in found)


@pytest.mark.parametrize(("rate", "accused"), [(0.9e9, ("wrong path",)), (1.1e9, ())])
def test_on_an_unknown_gpu_a_quarter_of_an_old_slot_is_too_little(rate, accused):
    """busbw of four on one host; a slot of PCIe 3 passes 15.75 GB/s one way, its quarter is 3.94."""
    made = {2**n: 2**n * 1.5 / (4 * rate) for n in range(10, 28)}
    text = printed("H200", "all_reduce", 4, "2.29.2", made).replace("NVIDIA H200", "Tesla T4")
    assert is_my_number_good(text).accused == accused


@pytest.mark.parametrize(("free", "accused"), [(110, ()), (230, ("fragmentation",))])
def test_a_fifth_of_what_is_reserved_may_be_free(free, accused):
    sizes = (
        (1000 - free, "active_allocated"),
        (free // 2, "inactive"),
        (24, "active_allocated"),
        (free // 2, "inactive"),
    )
    blocks = [{"size": size * MIB, "state": state, "frames": []} for size, state in sizes]
    about = {"device": 0, "address": 1 << 30, "total_size": 1024 * MIB, "segment_type": "large", "stream": 0}
    told = pickle.dumps([about | {"blocks": blocks, "is_expandable": False, "frames": []}])
    assert is_my_number_good(told).accused == accused


@pytest.mark.parametrize(("ranks", "cards", "told"), [(4, 1, 1), (3, 1, 0), (8, 2, 0)])
def test_four_ranks_that_share_one_card_are_too_many(ranks, cards, told):
    ways = [SimpleNamespace(network="IB", nic=nic) for nic in range(cards)] + [SimpleNamespace(network=None, nic=9)]
    log = SimpleNamespace(connections=ways, members=[SimpleNamespace(local_ranks=ranks)])
    assert [one.name for one in _nics(log)] == ["too few NICs"] * told


@pytest.mark.parametrize(
    "setting",
    [
        f"NCCL_{one} set by environment to {value}"
        for one, value in (("SHM_DISABLE", "1."), ("NET", "Socket"), ("NET_GDR_LEVEL", "LOC"))
    ],
)
def test_what_takes_the_shorter_way_away_is_told(setting):
    assert is_my_number_good(f"node1:10:20 [0] NCCL INFO {setting}\n").accused == ("wrong path",)


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("NVIDIA GB200", "GB200"),
        ("NVIDIA B200", "B200"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA H200 NVL", "H200-NVL"),
        ("NVIDIA H100 PCIe", "H100-PCIe"),
        ("NVIDIA H100 NVL", "H100-PCIe"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA A100-SXM4-40GB", "A100-40GB"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA GeForce RTX 4090", "RTX-4090"),
        ("Tesla T4", "cards"),
        ("a toaster", None),
    ],
)
def test_what_cuda_calls_a_gpu(name, gpu):
    assert accelerator_of(name) == gpu


def test_the_same_table_has_the_same_version_here_and_beside_the_explorer():
    told = {(run.gpu, run.nranks, run.version or "") for run in curves() if run.table in CURVES}
    assert len(told) == 3 and all(
        any((one.gpu, one.nranks, one.version) == case for one in published()) for case in told
    )


def test_of_a_size_there_is_one_time_and_it_is_nccls_own_choice():
    assert all(len({point.nbytes for point in one.points}) == len(one.points) for one in published())
    of_8_h200 = next(
        one for one in published() if (one.title[:10], one.nranks, len(one.points)) == ("all_reduce", 8, 1)
    )
    assert of_8_h200.gpu == "H200" and of_8_h200.points[0].busbw == pytest.approx(480e9)


def test_of_a_size_that_was_taken_twice_the_quickest_counts():
    rows = [SimpleNamespace(nbytes=8, seconds=seconds, busbw=1 / seconds) for seconds in (3.0, 1.0, 2.0)]
    assert curve_of_bench(SimpleNamespace(rows=rows)).points == ((8, 1.0, 1.0),)


def test_a_cause_leads_to_a_page_that_speaks_of_it():
    words = {"NVLS off": "NVLS", "LL128 off": "LL128", "only LL": "LL128", "only Simple": "Simple"}
    words |= {"few channels": "channel", "fragmentation": "fragment", "slow link": "NVLink", "no dump": "dump"}
    words |= {"host-bound": "host", "far NIC": "GPUDirect", "average": "average", "ranks disagree": "disagree"}
    for name, word in words.items():
        assert word in (BOOK / f"{KINDS[name].chapter}.md").read_text(encoding="utf-8"), name
    assert cause("average", "why").command.endswith("-g 8") and cause("average", "why", gpus=4).command.endswith("-g 4")


@pytest.mark.parametrize(
    ("off", "told"), [(1.0, True), (1.09, True), (1 / 1.09, True), (1.15, False), (1 / 1.15, False)]
)
def test_a_curve_is_that_of_simple_alone_within_a_tenth(off, told):
    seconds = [2e-5, 3e-5, 9e-5]
    lines = [(Candidate("Ring", "LL", 1, 1e-6, 1e-6), Candidate("Ring", "Simple", 1, one, one)) for one in seconds]
    points = [SimpleNamespace(seconds=one * off) for one in seconds]
    assert simple_alone(SimpleNamespace(points=points), SimpleNamespace(lines=lines)) is told
