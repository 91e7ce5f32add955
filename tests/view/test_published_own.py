"""A reader's own table in the widget `published`: what Python's reader finds is the curve that joins; the rest is refused with a reason."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path

import pytest

from helpers.nccl import TableError, nccl_tests_tables
from helpers.ranks.recorded import machine, versions
from helpers.yours.own import MOST, curves

TABLES = sorted((Path(__file__).parents[1] / "nccl" / "output" / "tables").glob("*.txt"))
NO_BANDWIDTH = "no row of this table has a time and a bandwidth"  # one rank alone: its busbw is 0


def line(nbytes: int, seconds: float) -> dict:
    """As tools.gpu.figures writes it, of 2 ranks."""
    algbw = nbytes / seconds
    return {"nbytes": nbytes, "min": seconds, "median": 1.25 * seconds, "algbw": algbw, "busbw": algbw}


def check() -> dict:
    """What `make gpu-check` writes as gpu-bandwidth.json."""
    lines = [line(2**n, 20e-6 + 2**n / 50e9) for n in range(10, 31, 2)]
    about = {"label": "2 ranks, nccl, 2 x H100", "machine": machine(), "versions": versions(), "date": "2026-11-23"}
    data = {"all_reduce": lines, "all_gather": lines[:3]}
    return {
        "name": "gpu-bandwidth",
        "data": data,
        **about,
        "command": "python -m tools.gpu_check --backend nccl --ranks 2",
    }


def changed(**parts: object) -> str:
    return json.dumps({**check(), **parts})


def broken(field: str, value: object) -> str:
    told = copy.deepcopy(check())
    told["data"]["all_reduce"][3][field] = value
    return json.dumps(told)


def sweep(**parts: object) -> dict:
    """What a sweep writes (helpers.ranks.sweep): as asked, and NCCL's own choice, which did not run."""
    rows = [
        {**{k: v for k, v in line(2**n, 20e-6 + 2**n / 50e9).items() if k != "min"}, "seconds": 20e-6 + 2**n / 50e9}
        for n in (10, 20)
    ]
    one = {"algorithm": "Ring", "protocol": "LL128", "channels": None, "outcome": "ran", "rows": rows}
    other = {"algorithm": None, "protocol": None, "channels": None, "outcome": "failed", "rows": []}
    head = {
        "kind": "sweep",
        "collective": "all_reduce",
        "nranks": 2,
        "label": "2 ranks, nccl",
        "nccl": "2.27.7",
        "timed": True,
    }
    return {**head, "cases": [one, other], **parts}


ONCE = {"nbytes": 1024, "min": 3e-5, "median": 3e-5, "algbw": 1e8, "busbw": 1e8}
TWICE = changed(data={"all_reduce": [line(2048, 2e-5), line(1024, 1e-5), ONCE]})
ASKED = [(None, None, None), (None, "LL", None), ("Ring", "LL", 1), ("Ring", "LL", 2)]
NAMED = ["NCCL's own choice", "own choice/LL", "Ring/LL, 1 channel", "Ring/LL, 2 channels"]
REFUSED = [
    (json.dumps(sweep(timed=False)), "the ranks of this sweep shared a GPU, so nothing was timed"),
    (json.dumps(sweep(cases=sweep()["cases"][1:])), "no combination of this sweep ran"),
    (json.dumps(sweep()).replace('"busbw"', '"bus"'), "cases.0.rows.0.busbw is a positive number, got None"),
    ("hello", "this is no output of nccl-tests"),
    ("", "this is no output of nccl-tests"),
    (
        changed(name="gpu-roofline", data={"rate": 1.0}),
        "the JSON 'gpu-roofline' has no bandwidths by size: of gpu-check",
    ),
    ("{}", "this JSON has no bandwidths by size"),
    (changed(data={}), "has no bandwidths by size"),
    (broken("min", 0), "data.all_reduce.3.min is a positive number, got 0"),
    (broken("nbytes", "1 KiB"), "data.all_reduce.3.nbytes is a positive number, got '1 KiB'"),
    (broken("median", None), "data.all_reduce.3.median is a positive number, got None"),
    ('{"results": []}', "it has no list of results"),
]


def read(given: str | bytes, name: str = "This text") -> list[dict] | dict:
    """The curves, or what is said where there is none."""
    told = json.loads(curves(given, name))
    return told.get("curves", told)


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_every_real_table_joins_with_what_the_reader_finds(path):
    got = read(path.read_text(encoding="utf-8"))
    try:
        tables = nccl_tests_tables(path.read_text(encoding="utf-8"))
    except TableError as error:
        assert got == {"refused": str(error)}
        return
    halves = [
        [(row.nbytes, timing) for row in table.rows if (timing := getattr(row, half)) and row.nbytes]
        for table in tables
        for half in ("out_of_place", "in_place")
    ]
    if not any(timing.busbw for half in halves for _, timing in half):
        assert got == {"refused": NO_BANDWIDTH}
        return
    for curve, whole in zip(got, filter(None, halves), strict=True):
        # what is printed as 0.00 is worked out where the ranks are known, and left out elsewhere
        half = whole if tables[0].nranks and tables[0].collective else [one for one in whole if one[1].busbw]
        told = [timing.seconds or size / timing.algbw for size, timing in half]
        assert (curve["sizes"], curve["seconds"]) == ([size for size, _ in half], told)
        assert all(
            busbw == timing.busbw or 0 < busbw < 5e6 for busbw, (_, timing) in zip(curve["busbw"], half, strict=True)
        )
        assert curve["name"].startswith("yours: ")


def test_a_gpu_check_joins_collective_by_collective():
    both = read(json.dumps(check()))
    assert [curve["name"] for curve in both] == [
        f"yours: {collective}, 2 ranks, nccl, 2 x H100" for collective in ("all_reduce", "all_gather")
    ]
    first, told = both[0], check()["data"]["all_reduce"]
    assert (first["seconds"], first["most"]) == ([one["min"] for one in told], [one["median"] for one in told])
    assert dict(first["from"])["Date"] == "2026-11-23" and "gpu_check" in dict(first["from"])["Command"]


def test_a_sweep_joins_combination_by_combination():
    (one,) = read(json.dumps(sweep()))
    assert one["name"] == "yours: all_reduce on 2 ranks, Ring/LL128"
    assert (one["sizes"], dict(one["from"])["Versions"]) == ([2**10, 2**20], "NCCL 2.27.7")


def test_every_combination_has_its_name():
    ran = sweep()["cases"][0]
    cases = [ran | dict(zip(("algorithm", "protocol", "channels"), asked, strict=True)) for asked in ASKED]
    assert [one["name"] for one in read(json.dumps(sweep(cases=cases)))] == [
        f"yours: all_reduce on 2 ranks, {name}" for name in NAMED
    ]


def test_sizes_rise_and_of_one_that_comes_twice_the_last_counts():
    """A median that is the least time is a single repetition: no bar is drawn."""
    (one,) = read(TWICE)
    assert (one["sizes"], one["seconds"], one["repeats"]) == ([1024, 2048], [3e-5, 2e-5], [1, 2])


@pytest.mark.parametrize(("text", "words"), REFUSED, ids=[words[:40] for _, words in REFUSED])
def test_what_has_no_curve_is_refused_with_the_reason(text, words):
    assert words in read(text)["refused"]


def test_a_file_may_be_packed_and_is_read_no_further_than_a_table_goes():
    text = TABLES[1].read_text(encoding="utf-8")
    assert read(gzip.compress(text.encode()), "x.gz") == read(text.encode(), "x") == read(text)
    assert read(gzip.compress(text.encode())[:-9], "x.gz") == {"refused": "x.gz is packed by gzip and ends too early"}
    assert read(gzip.compress(b" " * (MOST + 1)), "x.gz")["refused"].startswith("x.gz is longer than 4 MiB")
