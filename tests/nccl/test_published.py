"""Every published time as runs of one shape: none lost, medians as before, bandwidths as printed, and what the rows of a folder are."""

from __future__ import annotations

from statistics import median

import pytest

from helpers.facts import public
from helpers.nccl import predict
from helpers.nccl.published import CURVES, EACH, LATENCY, NVLS, TIMINGS, published
from helpers.nccl.runs import TABLE, measured_platform, runs

RUNS = {run.key: run for run in published()}
GB = 10**9


def of(table: str) -> list:
    return [run for run in RUNS.values() if run.table == table]


def test_no_time_is_lost():
    assert len(RUNS) == len(published()), "a key names one run"
    assert sum(len(cell) for run in of(TIMINGS) for cell in run.times) == 9574
    assert {run.table for run in RUNS.values()} == {TIMINGS, *CURVES, NVLS, EACH, LATENCY}
    halves = 2 * len(public("nccl-tests-4xh100-all_reduce").rows)
    assert sum(len(run.times) for run in of("nccl-tests-4xh100-all_reduce")) == halves
    assert (len(of(NVLS)), len(of(EACH)), len(of(LATENCY))) == (20, 4, 21)
    assert all(list(cell) == sorted(cell) and cell[0] > 0 for run in RUNS.values() for cell in run.times)


def test_its_medians_are_the_table_that_the_models_are_checked_against():
    """In every folder, size by size."""
    kept = {}
    for row in public(TABLE).rows:
        for place, one in enumerate(row["microseconds"]):
            key = row["gpu"], row["folder"], row["version"], row["collective"], row["nranks"], row["nbytes"] << place
            kept[key] = one * 1e3
    found = {
        (run.gpu, run.folder, run.version, run.collective, run.nranks, size): median(cell)
        for run in of(TIMINGS)
        if run.dtype == "half" and run.collective != "all_to_all"
        for size, cell in zip(run.sizes, run.times, strict=True)
    }
    assert found.keys() == kept.keys()
    assert all(found[key] == pytest.approx(kept[key]) for key in kept)


@pytest.mark.parametrize("name", CURVES)
def test_a_bandwidth_is_the_one_that_was_printed(name):
    """Worked out again from whole nanoseconds; printed to 0.01 GB/s, from times of four or five digits."""
    for run in of(name):
        column = "in_place_busbw" if run.setting == "in place" else "busbw"
        for busbw, row in zip(run.busbw, public(name).rows, strict=True):
            assert abs(busbw / GB - row[column]) <= 0.011 * 2 + 1e-3 * row[column]


@pytest.mark.parametrize("name", [NVLS, EACH])
def test_a_run_of_one_size_has_its_bandwidth(name):
    told = [value for row in public(name).rows for part, value in row.items() if part.startswith("busbw")]
    assert [run.busbw[0] / GB for run in of(name)] == pytest.approx(told, rel=1e-6)
    assert all(run.worked_out and len(run.times) == 1 and run.line is None for run in of(name))


def test_what_was_set_is_the_row_s_own():
    for row in public(EACH).rows:
        setting = {True: ".NVLS-on", False: ".NVLS-off", None: ""}[row["nvls"]]
        run = RUNS[f"H200.{row['collective']}.8.any.2.27.7.each{setting}"]
        assert run.busbw[0] / GB == pytest.approx(row["busbw"], rel=1e-6)
    for row in public(LATENCY).rows:
        for column, words in (("ll", "LL-alone"), ("ll128", "LL128-alone"), ("simple", "Simple-alone")):
            run = RUNS[f"A100.all_reduce.{row['nranks']}.any.none.latency.{words}"]
            assert run.seconds == pytest.approx((row[column],))


def test_the_rows_of_a_folder_are_of_the_version_that_they_state():
    """What the widget says behind its mark: 8 MiB on 4 B200, where 2.29.2 goes another way than 2.27.5 and 2.28.9."""

    def at_8_mib(which: str) -> float:
        run = RUNS[f"B200.all_reduce.4.half.{which}"]
        return run.seconds[run.sizes.index(2**23)]

    doubted = RUNS["B200.all_reduce.4.half.2.29.2.in-2.27.3"]
    assert doubted.named_otherwise and doubted.loaded == "2.29.2"
    assert at_8_mib("2.29.2.in-2.27.3") == pytest.approx(at_8_mib("2.29.2.in-2.29.2"), rel=0.01)
    for other in ("2.27.5.in-2.27.5", "2.28.9.in-2.28.9"):
        assert at_8_mib("2.29.2.in-2.27.3") > 1.7 * at_8_mib(other)


def test_which_rows_state_another_version_than_their_folder():
    """Counted in the rows: 4 of the 11 folders; 2 more state none."""
    doubted = {(run.gpu, run.folder, run.version) for run in of(TIMINGS) if run.named_otherwise}
    assert doubted == {
        ("B200", "2.27.3", "2.29.2"),
        ("GB200", "2.23", "2.29.2"),
        ("H100", "2.27.3", "2.29.2"),
        ("H200", "2.26.2", "2.29.2"),
    }
    assert {(run.gpu, run.folder) for run in of(TIMINGS) if run.version is None} == {("H100", "2.23"), ("H200", "2.23")}
    assert {run.loaded for run in of(TIMINGS) if run.version is None} == {"2.23"}
    assert not any(run.named_otherwise for run in RUNS.values() if run.folder is None)


def test_the_model_is_there_where_nccls_rules_are_known_and_nowhere_else():
    silent = {(run.gpu, run.collective) for run in of(TIMINGS) if run.model is None}
    assert {gpu for gpu, collective in silent if collective != "all_to_all"} == {"L40S"}
    assert {gpu for gpu, collective in silent if collective == "all_to_all"} == {run.gpu for run in of(TIMINGS)}
    assert all(run.model is None for run in [*of(LATENCY), *of("nccl-tests-8xa100-all_reduce")]), "no version is stated"
    assert all((run.model is None) == bool(run.setting) for run in [*of(NVLS), *of(EACH)])
    assert all(run.model for run in of("torch-8xh200-all_reduce")), "the library is the same"
    assert (
        RUNS["H100.all_reduce.4.float.2.26.2.nccl.in-place"].model == RUNS["H100.all_reduce.4.float.2.26.2.nccl"].model
    )


def test_the_model_is_what_a_clock_shows_where_a_table_covers_it():
    run = RUNS["H100.all_reduce.8.half.2.29.2.in-2.29.2"]
    for size, one in zip(run.sizes, run.model, strict=True):
        told = predict(run.collective, size, measured_platform(run.gpu), run.nranks, run.loaded)
        assert (one.nanoseconds, one.way) == (round(told.seconds * 1e9), f"{told.algorithm} {told.protocol}")


def test_the_line_misses_by_what_the_table_says_of_it():
    """Of all_reduce on NVLink, as helpers.nccl has it."""
    lines = {(run.gpu, run.loaded, run.nranks): run.line for run in of(TIMINGS) if run.line and run.dtype == "half"}
    assert len(lines) == len({(run.gpu, run.version, run.nranks) for run in runs()})
    for run in RUNS.values():
        if run.line is None:
            continue
        alpha, beta, most = run.line
        off = [abs((alpha + beta * size) / second - 1) for size, second in zip(run.sizes, run.seconds, strict=True)]
        assert max(off) == most and sum(one > 0.999 * most for one in off) >= min(3, len(off)), "three points hold it"
