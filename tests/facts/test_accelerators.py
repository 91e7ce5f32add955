"""Accelerators: peaks follow from units and clocks, levels are ordered, and a fact that hides something does not load."""

from datetime import date

import pytest

from helpers.facts import ACCELERATORS, DTYPES, FACTS, FactError, Source, lookup
from helpers.facts.accelerator import build_accelerators
from helpers.facts.book import CAPABILITIES, CHIPS
from helpers.facts.fact import build_facts, spread
from helpers.units import GB

SHEET = {"sheet": Source("A datasheet", "https://example.org/sheet", date(2026, 11, 21), "read")}
NVIDIA = [name for name, gpu in ACCELERATORS.items() if gpu.unit == "SM"]


def test_those_that_pages_and_machines_name_are_there():
    names = "V100 A100-40GB A100 H100 H100-PCIe H200 B200 MI300X RTX-4090 RTX-5090 L4 T4 "
    names += "B300 GB200 GB300 MI355X A40 L40S"
    assert set(names.split()) <= set(ACCELERATORS)


@pytest.mark.parametrize("name", ACCELERATORS)
def test_fp32_peak_is_lanes_times_two_times_clock(name):
    gpu = ACCELERATORS[name]
    lanes = gpu.sms.quantity * gpu.lanes.quantity
    rounded = 0.03 if name == "B300" else 0.01  # published for the board of eight only, in hundreds of TFLOPS
    assert gpu.flops["fp32"].quantity == pytest.approx(2 * lanes * gpu.clock.quantity, rel=rounded)


@pytest.mark.parametrize(
    ("name", "dtype", "clock"), [("V100", "fp16", 1.53e9), ("A100", "bf16", 1.41e9), ("H100", "bf16", 1.83e9)]
)
def test_tensor_cores_peak_is_what_an_sm_does_in_a_clock(name, dtype, clock):
    """At the clock that the peak is stated at; an A100's and an H100's SM then ask 16 and 32 FLOP of each byte of shared memory."""
    gpu = ACCELERATORS[name]
    assert gpu.tensor_rate.number * gpu.sms.number * clock == pytest.approx(gpu.peak(dtype).number, rel=0.003)
    assert gpu.tensor_rate.number / (4 * gpu.banks.number) == {"V100": 8, "A100": 16, "H100": 32}[name]
    assert gpu.schedulers.number == 4 and gpu.fp64_lanes.number == gpu.lanes.number / 2


@pytest.mark.parametrize("name", ACCELERATORS)
def test_narrower_types_are_never_slower_and_ridges_rise(name):
    gpu = ACCELERATORS[name]
    peaks = [gpu.flops[dtype].quantity for dtype in DTYPES[1:] if dtype in gpu.flops]
    assert peaks == sorted(peaks)
    for dtype, peak in gpu.flops.items():
        assert gpu.ridge(dtype) * gpu.hbm.quantity.value == pytest.approx(peak.quantity)
        assert peak.unit == ("TOP/s" if dtype == "int8" else "TFLOP/s")


@pytest.mark.parametrize("name", ACCELERATORS)
def test_levels_are_ordered(name):
    gpu = ACCELERATORS[name]
    assert gpu.hbm.quantity.direction == "both ways"
    assert gpu.registers.quantity >= gpu.shared_max.quantity >= gpu.shared_block.quantity
    assert gpu.shared_max.quantity < gpu.l2.quantity < gpu.hbm_capacity.quantity
    rates = [gpu.register_bandwidth.value, gpu.shared_bandwidth.value, gpu.hbm.quantity.value]
    assert rates == sorted(rates, reverse=True)
    if gpu.l2_bandwidth:
        assert gpu.shared_bandwidth.value > gpu.l2_bandwidth.value > gpu.hbm.quantity.value


def test_a_processor_of_a_dgx_a100_has_more_cache_than_the_gpu_and_a_tenth_of_its_bandwidth():
    cpu, gpu = (lambda name: lookup(f"EPYC-7742.{name}").quantity), ACCELERATORS["A100"]
    caches = cpu("l3") + cpu("cores") * (cpu("l2") + cpu("l1"))
    on_chip = gpu.l2.quantity + gpu.sms.quantity * (gpu.shared_combined.quantity + gpu.registers.quantity)
    assert caches / on_chip == pytest.approx(3.3, abs=0.1)
    assert cpu("memory").value == 8 * 8 * 3.2e9 == pytest.approx(gpu.hbm.bandwidth.value / 10, rel=0.01)


@pytest.mark.parametrize("name", NVIDIA)
def test_a_block_gets_all_shared_memory_but_the_reserved_kibibyte(name):
    gpu = ACCELERATORS[name]
    reserved = 1024 if float(gpu.capability) >= 8 else 0
    assert gpu.shared_max.quantity - gpu.shared_block.quantity == reserved
    assert gpu.shared_combined.quantity > gpu.shared_max.quantity


def test_errata_about_the_a100():
    """192 KiB combined, 164 shared, 163 per block; 180 GB/s shared per SM, 19.5 TB/s on the chip; registers six times that."""
    a100 = ACCELERATORS["A100"]
    kib = [fact.quantity / 1024 for fact in (a100.shared_combined, a100.shared_max, a100.shared_block)]
    assert kib == [192, 164, 163]
    assert a100.shared_bandwidth.value == pytest.approx(19.5e12, rel=0.002)
    assert a100.shared_bandwidth.value / a100.sms.quantity == pytest.approx(180e9, rel=0.005)
    assert a100.register_bandwidth.value == 6 * a100.shared_bandwidth.value
    assert a100.l2_bandwidth.value == pytest.approx(7.2e12, rel=0.003)
    assert a100.ridge("bf16") == pytest.approx(153, abs=0.1)


def test_bytes_in_flight_are_latency_times_bandwidth():
    b200 = ACCELERATORS["B200"]
    assert b200.in_flight == pytest.approx(860 / 1.965e9 * 7700 * GB, rel=1e-9)
    assert ACCELERATORS["A100"].in_flight is None


def test_sparse_figures_are_halved_and_say_so():
    for fact in FACTS.values():
        if "sparsity" in fact.note:
            published = fact.note.removeprefix("published as ").split(" with")[0]
            number, scale = published.split()[0].replace(",", ""), 1000 if " P" in published else 1
            assert float(number) * scale == pytest.approx(2 * fact.value), fact.key


def test_an_unpublished_type_is_refused_with_those_there_are():
    with pytest.raises(FactError, match="T4 publishes no 'bf16'; it has fp32, fp16, int8"):
        ACCELERATORS["T4"].ridge("bf16")


def test_groups_hand_source_and_place_on_and_a_fact_may_name_its_own():
    assert lookup("A100.sms").source_title == lookup("A100-40GB.sms").source_title
    assert lookup("cc-8.9.lanes").source_title != lookup("cc-8.9.warps").source_title
    assert str(lookup("cc-8.0.shared_max")) == "164 KiB per SM"
    assert str(lookup("A100.flops.bf16")) == "312 TFLOP/s per GPU"


GROUP = {
    "source": "sheet",
    "where": "table 1",
    "facts": {"hbm": {"value": 2, "unit": "TB/s", "direction": "both ways"}},
}


def test_a_group_is_as_strict_as_a_single_fact():
    def load(**changes):
        return build_facts(spread({"X": {**GROUP, **changes}}), SHEET)

    assert str(load()["X.hbm"]) == "2 TB/s, reads and writes together"
    with pytest.raises(FactError, match=r"X\.hbm.*source"):
        build_facts(spread({"X": {part: GROUP[part] for part in ("where", "facts")}}), SHEET)
    for entry, words in (
        ({"value": 2, "unit": "TB/s"}, "direction"),
        ({"value": 2, "direction": "both ways"}, "unit"),
        ({"unit": "TB/s", "direction": "both ways"}, "value"),
        (2, "a fact is a table"),
    ):
        with pytest.raises(FactError, match=words) as refused:
            load(facts={"hbm": entry})
        assert "X.hbm" in str(refused.value)


@pytest.mark.parametrize("lacking", ["title", "capability"])
def test_an_accelerator_without_title_or_capability_is_refused(lacking):
    entry = {part: CHIPS["A100"][part] for part in ("title", "capability") if part != lacking}
    with pytest.raises(FactError, match="A100: an accelerator has a title and a capability"):
        build_accelerators({"A100": entry}, FACTS)


def test_an_accelerator_without_a_needed_fact_is_refused():
    few = {key: fact for key, fact in FACTS.items() if key not in ("A100.l2", "cc-8.0.warps")}
    with pytest.raises(FactError, match=r"A100: no fact for cc-8\.0\.warps, A100\.l2"):
        build_accelerators({"A100": CHIPS["A100"]}, few)
    assert set(CAPABILITIES) == {chip["capability"] for chip in CHIPS.values()}
