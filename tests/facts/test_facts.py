"""Facts: none without a source, none that hides its direction, none that contradicts another."""

from datetime import date
from itertools import pairwise

import pytest

from helpers.facts import FACTS, LINKS, MODELS, RUNS, SOURCES, FactError, Link, Source, lookup
from helpers.facts.fact import OTHERS, build_facts, build_sources, read, spread
from helpers.facts.link import build_links
from helpers.units import GB, Bandwidth, UnitError

SHEET = {"sheet": Source("A datasheet", "https://example.org/sheet", date(2026, 11, 21), "read")}
GOOD = {"value": 450, "unit": "GB/s", "direction": "one way", "scope": "GPU", "kind": "spec"}
GOOD |= {"source": "sheet", "where": "table 1"}
MFU = {"value": 40, "unit": "%", "kind": "measured", "source": "sheet", "where": "table 2", "pairs": "all keys"}


def without(*parts):
    return {part: value for part, value in GOOD.items() if part not in parts}


def test_a_whole_fact_is_taken_and_prints_itself():
    fact = build_facts({"X.nvlink": GOOD}, SHEET)["X.nvlink"]
    assert str(fact) == "450 GB/s one way per GPU"
    assert fact.quantity == Bandwidth(450 * GB, "one way", "GPU", "spec")
    assert (fact.source_title, fact.source_url) == ("A datasheet", "https://example.org/sheet")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (without("source"), "needs a source"),
        (GOOD | {"source": "hearsay"}, "hearsay"),
        (without("where"), "where"),
        (GOOD | {"where": ""}, "where in A datasheet"),
        (without("direction"), "direction"),
        (without("scope"), "scope"),
        (GOOD | {"direction": "duplex"}, "duplex"),
        (GOOD | {"scope": "rack"}, "rack"),
        (GOOD | {"kind": "rumour"}, "rumour"),
        (GOOD | {"unit": "GBps"}, "GBps"),
        (GOOD | {"value": "450"}, "'450'"),
        (GOOD | {"value": True}, "True"),
        (GOOD | {"value": -450}, "positive"),
        (GOOD | {"colour": "green"}, "colour"),
    ],
)
def test_a_fact_that_lacks_or_hides_something_is_refused(entry, words):
    with pytest.raises(FactError, match=words) as refused:
        build_facts({"X.nvlink": entry}, SHEET)
    assert "X.nvlink" in str(refused.value)


def test_a_share_of_a_peak_says_which_scores_it_counts():
    assert build_facts({"X.mfu": MFU}, SHEET)["X.mfu"].pairs == "all keys"
    for pairs in ("", "all"):
        with pytest.raises(FactError, match=f"X.mfu: pairs must be one of all keys, .* got '{pairs}'"):
            build_facts({"X.mfu": MFU | {"pairs": pairs}}, SHEET)


@pytest.mark.parametrize(
    "wrong",
    [{"title": ""}, {"url": "ftp://example.org"}, {"checked": "yesterday"}, {"how": "believed"}],
)
def test_a_source_without_title_address_date_or_manner_is_refused(wrong):
    good = {"title": "A datasheet", "url": "https://example.org", "checked": date(2026, 11, 21), "how": "read"}
    assert build_sources({"sheet": good})["sheet"].title == "A datasheet"
    with pytest.raises(FactError):
        build_sources({"sheet": good | wrong})
    with pytest.raises(FactError, match="source sheet"):
        build_sources({"sheet": {part: good[part] for part in good if part not in wrong}})


def test_no_key_stands_in_two_files_and_no_source_is_idle():
    files = [read("accelerators"), read("links"), read("software"), read("rent")]
    files += [
        spread(read("chips")),
        spread(read("capabilities"), "cc-"),
        spread(read("machines")),
        spread(read("products")),
        spread(read("wires")),
        spread(read("processors")),
        read("runs")["facts"],
    ]
    assert sum(len(file) for file in files) == len(FACTS)
    used = {fact.source for fact in FACTS.values()} | {model.source for model in MODELS.values()}
    used |= {run.source for run in RUNS}
    used |= {source for source in SOURCES.values() if source.by}  # which pages name
    assert used == set(SOURCES.values())


def test_a_cross_checked_source_says_through_whom():
    assert all(source.note for source in SOURCES.values() if source.how == "cross-checked")


@pytest.mark.parametrize("both", [key for key in FACTS if key.endswith(".both")])
def test_both_ways_is_twice_one_way(both):
    one = FACTS[both.removesuffix(".both")].quantity
    assert (one.direction, FACTS[both].quantity.direction) == ("one way", "both ways")
    assert FACTS[both].quantity.value == 2 * one.value


NVLINKS = [("V100", "nvlink-2"), ("A100", "nvlink-3"), ("H100", "nvlink-4"), ("H200", "nvlink-4"), ("B200", "nvlink-5")]
NVLINKS += [("B300", "nvlink-5"), ("GB200", "nvlink-5"), ("GB300", "nvlink-5")]


@pytest.mark.parametrize(("gpu", "slug"), NVLINKS)
def test_per_gpu_is_links_times_per_link(gpu, slug):
    links, link = lookup(f"{slug}.links").quantity, lookup(f"{slug}.link").quantity
    assert links == lookup(f"{gpu}.nvlink.links").quantity
    assert links * link.value == lookup(f"{gpu}.nvlink").quantity.value == lookup(f"{slug}.gpu").quantity.value
    assert int(slug[-1]) == lookup(f"{gpu}.nvlink.generation").quantity


@pytest.mark.parametrize("slug", ["nvlink-2", "nvlink-3-bridge", "nvlink-5", "xgmi-mi300x", "xgmi-mi355x"])
@pytest.mark.parametrize("ways", ["", ".both"])
def test_a_gpus_sum_is_its_links(slug, ways):
    link, gpu = lookup(f"{slug}.link{ways}").bandwidth, lookup(f"{slug}.gpu{ways}").bandwidth
    assert link.times(lookup(f"{slug}.links").quantity, "GPU") == gpu


@pytest.mark.parametrize("generation", [1, 2, 3, 4])
def test_a_switch_chip_is_its_ports_of_the_nvlink_after_it(generation):
    port, chip = lookup(f"nvlink-{generation + 1}.link").bandwidth, lookup(f"nvswitch-{generation}.chip").bandwidth
    assert port.times(lookup(f"nvswitch-{generation}.ports").quantity, "chip") == chip


def test_the_constants_of_nccls_cost_model_are_nobodys_fit():
    """They rank its algorithms; nothing here was fitted to get them, and a page that prints one says whose it is."""
    times = [fact for fact in FACTS.values() if fact.source is SOURCES["nccl-tuning"] and fact.unit == "µs"]
    assert len(times) >= 10 and {fact.kind for fact in times} == {"modelled"}


@pytest.mark.parametrize("key", [key for key in FACTS if key.endswith(".achievable")])
def test_what_is_achievable_stays_below_what_is_specified(key):
    fact, spec = FACTS[key], FACTS[key.removesuffix(".achievable")]
    assert (fact.kind, spec.kind) == ("achievable", "spec")
    assert 0.6 * spec.bandwidth.value < fact.bandwidth.value < 0.97 * spec.bandwidth.value
    assert (fact.direction, fact.scope) == (spec.direction, spec.scope) == ("one way", spec.scope)


def test_network_cards_double_up_to_the_eighth_and_no_card_outruns_its_slot():
    rates = [lookup(f"connectx-{generation}.card").bandwidth for generation in (6, 7, 8, 9)]
    assert all(fast.value == 2 * slow.value and fast.scope == "chip" for slow, fast in pairwise(rates[:3]))
    slots = [lookup(f"pcie-{generation}.x16").bandwidth for generation in (4, 5, 6, 6)]
    assert all(card.value < slot.value for card, slot in zip(rates, slots, strict=True))


@pytest.mark.parametrize(("generation", "rough"), [(3, 15.75), (4, 31.5), (5, 63.0), (6, 118)])
def test_pcie_follows_from_rate_lanes_and_encoding(generation, rough):
    code = 128 / 130 if generation < 6 else 236 / 256  # of a flit
    bits = lookup(f"pcie-{generation}.rate").quantity * lookup("pcie.lanes").quantity * code
    slot, gpu = lookup(f"pcie-{generation}.x16").quantity, lookup(f"pcie-{generation}.gpu").quantity
    assert slot.value == gpu.value == pytest.approx(bits / 8, rel=1e-7)
    assert slot.value / GB == pytest.approx(rough, rel=1e-3)
    assert lookup("pcie.encoding").quantity == pytest.approx(128 / 130, rel=1e-7)


@pytest.mark.parametrize("slug", ["infiniband-hdr", "infiniband-ndr", "infiniband-xdr", "roce-400"])
def test_infiniband_port_in_bits_is_its_gpu_figure_in_bytes(slug):
    port, gpu = lookup(f"{slug}.port"), lookup(f"{slug}.gpu")
    assert (port.unit, gpu.unit) == ("Gb/s", "GB/s")
    assert port.quantity.value == gpu.quantity.value == port.value / 8 * GB


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("H100.nvlink", "450 GB/s one way per GPU"),
        ("A100.nvlink.both", "600 GB/s both ways per GPU"),
        ("H100.hbm", "3.35 TB/s, reads and writes together"),
        ("WSE-3.sram.bandwidth", "21 PB/s, reads and writes together"),
        ("H100.hbm.capacity", "80 GB per GPU"),
        ("H100.pcie.generation", "generation 5"),
        ("nvlink-4.link", "25 GB/s one way per link"),
        ("nvlink-4.call", "5.38 µs per call"),
        ("nvlink-4.step.simple", "4.76 µs per step"),
        ("pcie-5.x16", "63.02 GB/s one way per x16 slot"),
        ("infiniband-ndr.port", "400 Gb/s one way per port"),
        ("nvswitch-3.chip.both", "3200 GB/s both ways per chip"),
        ("connectx-8.card", "800 Gb/s one way per card"),
        ("nvlink-4.link.achievable", "20.6 GB/s one way per link"),
        ("GB200-NVL72.nodes", "18 nodes per rack"),
    ],
)
def test_what_a_page_prints(key, text):
    assert str(lookup(key)) == lookup(key).text == text


def test_what_hours_or_gigabytes_cost():
    rent = lookup("rent.cloud")
    assert (rent.times("1"), rent.times("4/3"), rent.times("16")) == ("3.99 dollars", "5.32 dollars", "63.84 dollars")
    with pytest.raises(FactError, match="times 8 means nothing"):
        lookup("H100.sms").times("8")
    by_number = [lookup(key).value for key in ("rent.cloud.1", "rent.cloud.2", "rent.cloud.4", "rent.cloud")]
    assert by_number == sorted(by_number, reverse=True), "a whole node is the cheapest per GPU"


def test_of_a_memory_a_driver_shows_less_than_its_chips_have_and_torch_less_than_the_driver():
    sold, shown, torch = (lookup(f"H100.hbm.{name}").quantity for name in ("capacity", "shown", "torch"))
    assert torch < shown < sold == 80 * 2**30
    assert round(shown / 2**30, 2) == round(81559 / 1024, 2)


def test_an_unknown_key_names_close_ones():
    with pytest.raises(KeyError, match=r"H100\.nvlinks.*H100\.nvlink\b"):
        lookup("H100.nvlinks")
    with pytest.raises(KeyError, match=r"close: [^,]+(, [^,]+){3}.$"):  # four
        lookup("H100.nvlin")
    with pytest.raises(KeyError, match="there are"):
        lookup("zzz")


def test_links_are_the_networks_and_point_at_themselves():
    assert list(LINKS) == ["nvlink-3", "nvlink-4", "nvlink-5", "pcie-4", "pcie-5", "infiniband-hdr", "infiniband-ndr"]
    for slug, link in LINKS.items():
        assert link.slug == slug and link.note and link.link(0, 3) is link
        assert link.bandwidth == link.sources[0].quantity and set(link.sources) <= set(FACTS.values())
        assert link.beta * link.bandwidth.value == pytest.approx(1)
        assert link.seconds(0) == link.alpha and link.seconds(10**9) > 10**9 * link.beta
    rates = [
        LINKS[slug].bandwidth
        for slug in ("infiniband-hdr", "pcie-4", "infiniband-ndr", "pcie-5", "nvlink-3", "nvlink-4")
    ]
    assert all(slow < fast for slow, fast in pairwise(rates))


def test_protocols_trade_latency_for_bandwidth():
    """LL starts at once and wastes half of the wire, LL128 stands between, Simple has all of it; over PCIe there is no LL128."""
    for link in LINKS.values():
        lines = link.protocols
        names = ["LL", "Simple"] if link.slug.startswith("pcie") else ["LL", "LL128", "Simple"]
        assert [one.protocol for one in lines] == names
        assert all(a.alpha < b.alpha and a.bandwidth < b.bandwidth for a, b in pairwise(lines))
        assert lines[0].call == min(one.call for one in lines)
        assert 0.35 < lines[0].bandwidth.value / link.bandwidth.value <= 0.5


def test_a_link_without_protocols_is_a_line_under_each():
    line = Link(1e-6, Bandwidth(1e9, "one way"))
    assert line.by("LL") is line and line.call == 0


def test_a_fitted_bandwidth_stays_below_the_line_rate():
    for slug in ("nvlink-3", "nvlink-4", "nvlink-5"):
        assert (
            0.5 * lookup(f"{slug}.gpu").quantity.value
            < LINKS[slug].bandwidth.value
            < lookup(f"{slug}.gpu").quantity.value
        )


def test_what_nccl_reaches_is_told_of_wires_and_networks_alike():
    """A fitted bandwidth is reached already; a network's is the line's, and all of its protocols become slower alike."""
    for slug, link in LINKS.items():
        reached = link.achievable
        assert reached.achievable is reached
        assert reached.bandwidth.value <= link.bandwidth.value <= link.line.value
        assert (reached is link) == (not slug.startswith("infiniband")), slug
        assert [one.alpha for one in reached.protocols] == [one.alpha for one in link.protocols]
        share = reached.bandwidth / link.bandwidth
        assert [one.bandwidth.value for one in reached.protocols] == pytest.approx(
            [share * one.bandwidth.value for one in link.protocols]
        )
    assert LINKS["infiniband-ndr"].achievable.bandwidth.value == 47e9 and LINKS["nvlink-4"].line.value == 450e9


@pytest.mark.parametrize(
    "bandwidth",
    [Bandwidth(9e11, "both ways"), Bandwidth(25e9, "one way", "link"), Bandwidth(4e11, "one way", "node"), 450e9],
)
def test_a_link_takes_one_way_per_gpu_only(bandwidth):
    with pytest.raises(UnitError, match="one way per GPU"):
        Link(4e-6, bandwidth)


@pytest.mark.parametrize("alpha", [-1e-6, float("nan"), float("inf"), "4 µs", True])
def test_a_link_takes_an_alpha_in_seconds_only(alpha):
    with pytest.raises(UnitError, match="alpha"):
        Link(alpha, Bandwidth(450e9, "one way"))


def test_a_network_of_unknown_facts_or_without_a_note_is_refused():
    line = {"call": "nccl.call.ll", "alpha": "nccl.pcie.ll"}
    entry = {"name": "N", "protocols": {"LL": line}, "bandwidth": "pcie-5.gpu", "note": "why"}
    assert build_links({"n": entry}, FACTS)["n"].name == "N"
    typo, lack = ({"LL": line | {"alpha": key}} for key in ("nccl.pcie.l", None))
    for wrong in ({"protocols": typo}, {"protocols": lack}, {"protocols": {}}, {"bandwidth": None}, {"note": ""}):
        with pytest.raises(FactError, match="n: a network"):
            build_links({"n": entry | wrong}, FACTS)
    with pytest.raises(UnitError, match="one way per GPU"):
        build_links({"n": entry | {"bandwidth": "pcie-5.x16"}}, FACTS)


WORTH = {
    "GB": 2**30,
    "GiB": 2**30,
    "MiB": 2**20,
    "MB": 10**6,
    "KiB": 2**10,
    "minutes": 60,
    "GT/s": 1e9,
    "GHz": 1e9,
    "TFLOP/s": 1e12,
    "TOP/s": 1e12,
    "%": 0.01,
    "ms": 1e-3,
}


def test_a_unit_is_worth_its_prefix_and_what_is_counted_itself():
    assert {unit: worth for unit, worth in OTHERS.items() if worth != 1} == {**WORTH, "µs": 1e-6}
    for fact in FACTS.values():
        if fact.unit in OTHERS and fact.unit != "µs":
            assert fact.quantity == fact.value * WORTH.get(fact.unit, 1), fact.key
