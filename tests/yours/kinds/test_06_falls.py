"""A curve is judged by its whole course: what falls from one size on, or between two, is accused, and no public curve is."""

from pathlib import Path

import pytest
from yours.made_tables import run, times

from helpers.facts import MACHINES, public
from helpers.units import GIB, KIB, MIB
from helpers.yours import is_my_number_good
from helpers.yours.places import place_of
from helpers.yours.tables.curves import Curve
from helpers.yours.tables.falls import fall_causes, falls
from helpers.yours.tables.printing import printed
from helpers.yours.tables.published import bus_factor

FAULT = (Path(__file__).parents[1] / "faults" / "06-collapse-at-large-sizes.txt").read_text()
H200 = times(run("H200")) | {n * MIB: n * MIB * 1.75 / 470e9 for n in (1024, 2048, 4096, 8192)}


def at_most(rate, sizes, of=H200):
    """The times of a run that reaches no more than rate, busbw in GB/s, at those sizes."""
    return {n: max(took, n * 1.75 / rate / 1e9) if sizes(n) else took for n, took in of.items()}


def table(seconds, gpu="H200", nranks=8, hosts=1):
    return printed(gpu, "all_reduce", nranks, "2.29.2", seconds, hosts)


def one_half(text, place):
    """The table with the fall in one of its halves, as the whole curve has it in the other."""
    good = {line.split()[0]: line for line in table(H200).split("\n") if line.strip()[:1].isdigit()}
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if line.strip()[:1].isdigit():
            healthy, width = good[line.split()[0]], (len(line) - 52) // 2
            half = [line[52 : 52 + width], healthy[52 : 52 + width]]
            lines[at] = line[:52] + "".join(half if place == "out of place" else half[::-1])
    return "\n".join(line for line in lines if "Avg" not in line)


LARGE, MIDDLE, LAST = at_most(60, lambda n: n >= GIB), at_most(20, lambda n: 8 * MIB <= n <= 64 * MIB), max(H200)
ACCUSED = {
    "the public fault": (
        FAULT,
        "falls at large sizes",
        "from 1 GiB on 62 to 63.8 GB/s, 14% of the 440 GB/s at 512 MiB",
    ),
    "to a slot": (
        table(LARGE),
        "falls at large sizes",
        "from 1 GiB on 60 GB/s, 13% of the 460 GB/s at 512 MiB: no more than",
    ),
    "to two thirds": (
        table(at_most(300, lambda n: n >= GIB)),
        "falls at large sizes",
        "from 1 GiB on 300 GB/s, 65% of",
    ),
    "at the last size, both halves": (
        table(at_most(60, lambda n: n == LAST)),
        "falls at large sizes",
        "from 8 GiB on 60",
    ),
    "in the middle": (table(MIDDLE), "dip at middle sizes", "at 8 MiB to 64 MiB 20 GB/s"),
    "in place alone": (one_half(table(LARGE), "in place"), "falls at large sizes", "from 1 GiB on in place 60 GB/s"),
    "out of place alone": (
        one_half(table(LARGE), "out of place"),
        "falls at large sizes",
        "from 1 GiB on out of place 60",
    ),
    "GPUs that nobody knows": (
        table(LARGE).replace("NVIDIA H200", "NVIDIA Unheard 9000"),
        "falls at large sizes",
        "from 1 GiB on 60 GB/s",
    ),
    "between nodes": (
        table({n: took / 1.75 * 1.875 for n, took in LARGE.items()}, nranks=16, hosts=2),
        "falls at large sizes",
        "from 1 GiB on 60 GB/s",
    ),
    "a step of four": (
        table({n: took for n, took in LARGE.items() if n.bit_length() % 2}),
        "falls at large sizes",
        "from 1 GiB on 60 GB/s",
    ),
    "single sizes, several": (
        table(at_most(20, lambda n: n in (8 * MIB, 32 * MIB, 128 * MIB))),
        "unsteady sizes",
        "3 such sizes are no chance",
    ),
}


def test_small_sizes_that_take_longer_than_large_ones_are_accused():
    late = {n: 3e-3 if 8 * KIB <= n <= 64 * KIB else took for n, took in H200.items()}
    found = is_my_number_good(table(late))
    assert (
        found.accused[0] == "late small sizes"
        and "from 8 KiB to 64 KiB a call takes more than 4 times" in found.causes[0].why
    )


@pytest.mark.parametrize(("text", "name", "why"), ACCUSED.values(), ids=ACCUSED)
def test_a_fall_is_accused_with_the_size_where_it_begins(text, name, why):
    found = is_my_number_good(text)
    told = next((cause for cause in found.causes if cause.name == name), None)
    assert told and told.accuses and why in told.why, str(found)
    assert found.accused[0] == name and told.chapter == "benchmarking" and told.repair
    assert name == "unsteady sizes" or "It falls: " in found.sentence
    assert any("the curve falls" in bend.why for bend in found.bends)


def healthy_text(nbytes, share):
    return table({n: took / (share if n == nbytes else 1) for n, took in H200.items()})


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        (healthy_text(64 * MIB, 0.3), True),
        (one_half(healthy_text(LAST, 0.3), "in place"), True),
        (healthy_text(16 * MIB, 0.75), False),
        (healthy_text(64 * 1024, 0.2), False),
        (table(at_most(400, lambda n: n >= GIB)), False),
        (table({n: took for n, took in H200.items() if n <= 16 * MIB}), False),
    ],
    ids=[
        "one size",
        "one size, one half",
        "a dip to three quarters",
        "a late small call",
        "to seven eighths",
        "no large size",
    ],
)
def test_what_healthy_curves_do_is_not_accused(text, remark):
    found = is_my_number_good(text)
    assert not found.accused and any(one.name == "unsteady sizes" for one in found.causes) == remark, str(found)


def public_curves():
    """(GPU, collective, ranks, {bytes: microseconds of each repeat}) of all timed collectives."""
    for row in public("nccl-tests-six-gpus-timings").rows:
        sizes = {row["nbytes"] << place: took for place, took in enumerate(row["microseconds"])}
        yield row["gpu"], row["collective"], row["nranks"], sizes


def test_no_public_curve_is_accused():
    """Of a size that was taken several times, the quickest, and the slowest."""
    places = {machine.accelerator: place_of(machine) for machine in reversed(MACHINES.values())}
    curves = list(public_curves())
    assert sum(len(took) for *_, sizes in curves for took in sizes.values()) == 9574
    for gpu, collective, nranks, sizes in curves:
        for pick in (min, max):
            factor = bus_factor(collective, nranks)
            half = tuple((nbytes, nbytes / pick(took) * 1e6 * factor) for nbytes, took in sizes.items())
            curve = Curve("", collective, nranks, None, (), halves=(half,))
            causes = fall_causes(curve, places[gpu], falls(curve, places[gpu]))
            assert not any(cause.accuses for cause in causes), (gpu, collective, nranks, pick, causes)
