import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.units import Bandwidth, UnitError, bandwidth_text, nbytes_text, parse_nbytes, seconds_text

NVLINK = Bandwidth(900e9, "both ways")


def test_both_ways_is_twice_one_way():
    assert NVLINK.one_way == Bandwidth(450e9, "one way")
    assert NVLINK.one_way.both_ways == NVLINK
    assert NVLINK.both_ways is NVLINK and NVLINK.one_way.one_way is not NVLINK


@pytest.mark.parametrize(
    "mix",
    [
        lambda a, b: a + b,
        lambda a, b: a / b,
        lambda a, b: a < b,
        lambda a, b: a > b,
    ],
)
@pytest.mark.parametrize("other", [Bandwidth(50e9, "one way"), Bandwidth(50e9, "both ways", "node"), 50e9])
def test_unlike_ones_do_not_mix(mix, other):
    if isinstance(other, float) and mix(2.0, 1.0) == 2.0:
        return  # a bandwidth divided by a number is a bandwidth
    with pytest.raises(UnitError, match=r"differ|beside another bandwidth"):
        mix(NVLINK, other)


PORT = Bandwidth(25e9, "one way", "link")


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [
        (
            NVLINK.one_way,
            NVLINK,
            "the directions differ; convert the second: .one_way makes it 450 GB/s one way per GPU",
        ),
        (
            NVLINK,
            NVLINK.one_way,
            "the directions differ; convert the second: .both_ways makes it 900 GB/s both ways per GPU",
        ),
        (NVLINK.one_way, PORT, "the scopes differ; convert the second: .times(n, 'GPU'), with n links to a GPU"),
        (NVLINK.one_way, Bandwidth(4e11, "one way", "node"), ".times(1 / n, 'GPU'), with n GPUs to a node"),
        (
            NVLINK.one_way,
            PORT.both_ways,
            "the directions and scopes differ; convert the second: "
            ".one_way makes it 25 GB/s one way per link, then .times(n, 'GPU'), with n links to a GPU",
        ),
    ],
)
def test_an_error_says_how_to_convert_and_the_conversion_works(one, other, how):
    with pytest.raises(UnitError) as refused:
        one + other
    assert str(refused.value).endswith(how) and f"cannot mix {one} with {other}: " in str(refused.value)
    steps = re.findall(r"\.(one_way|both_ways)|\.times\((n|1 / n), '(\w+)'\)", how)
    for way, count, scope in steps:
        other = getattr(other, way) if way else other.times(18 if count == "n" else 1 / 8, scope)
    assert (one + other).scope == "GPU"


def test_times_counts_whole_machines_and_parts_of_them():
    assert PORT.times(18, "GPU") == NVLINK.one_way
    assert NVLINK.one_way.times(8, "node").times(1 / 8, "GPU") == NVLINK.one_way
    assert NVLINK.conversion("both ways", "GPU") == ""
    for wrong in ("18", True, None):
        with pytest.raises(UnitError, match="say how many there are"):
            PORT.times(wrong, "GPU")
    with pytest.raises(UnitError, match="scope must be"):
        PORT.times(18, "rack")


def test_like_ones_do():
    a = Bandwidth(25e9, "one way", "link")
    assert a + a == a * 2 == 2 * a == Bandwidth(50e9, "one way", "link")
    assert (a * 18) / a == 18
    assert a / 2 < a and a > a / 2 and Bandwidth(3.0, "one way", "GPU") / 2 == Bandwidth(1.5, "one way", "GPU")
    assert (a + Bandwidth(1e9, "one way", "link", "measured")).kind == "fitted"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((0, "one way"), "positive number"),
        ((-1, "one way"), "positive number"),
        ((float("nan"), "one way"), "positive number"),
        (("450 GB/s", "one way"), "positive number"),
        ((1e9, "duplex"), "direction must be one of one way, both ways, got 'duplex'"),
        ((1e9, "one way", "rack"), "scope must be one of link, chip, GPU, node, got 'rack'"),
        ((1e9, "one way", "GPU", "guess"), "kind must be one of"),
    ],
)
def test_refuses(args, says):
    with pytest.raises(UnitError, match=says):
        Bandwidth(*args)


def test_a_message_travels_one_way():
    assert NVLINK.one_way.seconds(450e9) == 1.0
    with pytest.raises(UnitError, match=r"take \.one_way first"):
        NVLINK.seconds(1)


def test_text():
    assert str(NVLINK) == "900 GB/s both ways per GPU"
    assert [nbytes_text(n) for n in (0, 1, 1023, 1024, 1536, 64 * 2**20, 2**30)] == [
        "0 B",
        "1 B",
        "1023 B",
        "1 KiB",
        "1.5 KiB",
        "64 MiB",
        "1 GiB",
    ]
    assert [seconds_text(t) for t in (0, 2.5e-9, 1.2e-5, 4.1e-6, 0.2468, 3)] == [
        "0 s",
        "2.5 ns",
        "12 µs",
        "4.1 µs",
        "247 ms",
        "3 s",
    ]
    assert bandwidth_text(341.2e9) == "341 GB/s"


@pytest.mark.parametrize(
    ("text", "nbytes"), [("64 MiB", 2**26), ("1GB", 10**9), ("1.5 KiB", 1536), ("8", 8), (4096, 4096)]
)
def test_parse(text, nbytes):
    assert parse_nbytes(text) == nbytes


@pytest.mark.parametrize(("base", "units"), [(1000, ("KB", "MB", "GB", "TB")), (1024, ("KiB", "MiB", "GiB", "TiB"))])
def test_every_unit_of_a_size_is_a_power_of_its_base(base, units):
    assert [parse_nbytes(f"2 {unit}") for unit in units] == [2 * base**power for power in (1, 2, 3, 4)]


@pytest.mark.parametrize("text", ["", "64 Mib", "-1 B", "1 PiB", None, -1, True, 1.5])
def test_parse_refuses(text):
    with pytest.raises(UnitError, match="a size looks like"):
        parse_nbytes(text)


@given(st.integers(0, 2**46).map(lambda n: n))
def test_a_printed_size_reads_back_within_a_percent(nbytes):
    assert parse_nbytes(nbytes_text(nbytes)) == pytest.approx(nbytes, rel=0.01, abs=1)
