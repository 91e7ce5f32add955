"""Steps under torch's profiler on real ranks, and the recorded traces: sums to the nanosecond, calls and bytes as told, faults found."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise

import pytest

from helpers.nccl import parse_kineto, together
from helpers.parallel.profiled import FOLDER, JOBS, Job, Late, kept, steps, trace_path, traced, waits
from helpers.parallel.profiled.__main__ import LOADING, slept
from helpers.ranks import Ranks
from helpers.ranks.recorded import load
from helpers.yours import is_my_number_good

SHORT = Job("for a test", layers=4, width=32, seconds=1e-3, bucket=3, load=5e-3, late=Late(1, 10.0))
NAMES = [(name, rank) for name, job in JOBS.items() for rank in range(job.nranks)]


def run(job: Job) -> tuple[bytes, list[float]]:
    losses: list[float] = []
    step = steps(job)
    return traced(lambda: losses.append(step()), 2), losses


@pytest.fixture(scope="module")
def short():
    with Ranks(2, backend="gloo", timeout=60) as ranks:
        yield ranks.run(run, SHORT), ranks.run(run, SHORT._replace(bucket=0))


def exact(read):
    """A step is shared out without a rest; the calls are those that were made."""
    for step in read.steps:
        b = read.breakdown(step=step)
        assert b.wall == b.compute + b.exposed + b.copies + b.idle and 0 <= b.loading <= b.idle
        assert 0 < b.exposed <= b.communication


def test_a_trace_has_the_calls_and_the_bytes_of_its_steps(short):
    for found, job in zip(short, (SHORT, SHORT._replace(bucket=0)), strict=True):
        for rank, (packed, losses) in enumerate(found):
            read = parse_kineto(packed)
            exact(read)
            sums = [one for one in read.collectives if one.op == "all_reduce"]
            assert [one.nbytes for one in sums] == 2 * job.calls() and (read.rank, read.world_size) == (rank, 2)
            assert losses[1] < losses[0] and len(read.steps) == 2
            assert all(read.breakdown(step=k).loading > 0.9 * job.load * 1e9 for k in read.steps)


def test_gradients_are_the_same_in_buckets_and_one_by_one(short):
    alone, buckets = ([losses for _, losses in found] for found in short)
    assert alone == buckets and buckets[0] == buckets[1], "all ranks have the same data"


def test_what_is_kept_says_the_same_of_every_step(short):
    for packed, _ in short[0]:
        whole, part = parse_kineto(packed), parse_kineto(kept(packed, what="a test"))
        assert [part.breakdown(step=k) for k in part.steps] == [whole.breakdown(step=k) for k in whole.steps]
        assert part.wall < whole.wall
        assert "barrier" in {c.op for c in whole.collectives} and {"all_reduce"} == {c.op for c in part.collectives}
        assert set(json.loads(gzip.decompress(kept(packed)))) == {
            "recorded", "schemaVersion", "deviceProperties", "distributedInfo", "displayTimeUnit", "traceEvents",
        }  # fmt: skip


def test_a_trace_without_a_step_is_not_kept():
    with pytest.raises(ValueError, match="expected a mark ProfilerStep#0"):
        kept(gzip.compress(b'{"traceEvents": []}'))


def test_the_late_rank_is_found_without_a_common_clock(short):
    found = together(parse_kineto(packed) for packed, _ in short[0])
    assert found.caused(1) > found.caused(0) and found.waited(0) > 100e6  # rank 1 is late by 108 ms a step


# the recorded ones --------------------------------------------------------------------------------------------------
def test_there_is_a_trace_of_every_rank_and_no_other():
    assert {path.name for path in FOLDER.iterdir()} == {trace_path(*one).name for one in NAMES}
    assert all(trace_path(*one).stat().st_size < 200_000 for one in NAMES)
    with pytest.raises(ValueError, match="sound was recorded on 2 ranks, got rank 2"):
        trace_path("sound", 2)


@pytest.mark.parametrize(("name", "rank"), NAMES)
def test_a_recorded_traces_sums_are_exact(name, rank):
    """Also by a plain count of its own letters: what sleeps, and how often it talks."""
    job, read = JOBS[name], parse_kineto(trace_path(name, rank))
    exact(read)
    assert (read.rank, read.world_size, read.backend) == (rank, job.nranks, "gloo")
    assert [one.nbytes for one in read.collectives] == 2 * job.calls()
    assert read.breakdown().compute >= slept(trace_path(name, rank).read_bytes()) * 1e9
    spans = sorted((one.start, one.end) for one in read.collectives)
    apart = all(before[1] <= after[0] for before, after in pairwise(spans))
    assert not apart or read.breakdown().communication == sum(end - start for start, end in spans)


ACCUSED = {"late-rank": "late rank", "data-loading": "data loading", "small-calls": "small collectives"}


@pytest.mark.parametrize("name", JOBS)
def test_what_is_wrong_is_accused_first(name):
    found = is_my_number_good([trace_path(name, rank).read_bytes() for rank in range(JOBS[name].nranks)])
    first = found.accused[0] if found.accused else None
    assert first == ACCUSED.get(name), str(found)
    if name == "late-rank":
        assert found.causes[0].why.startswith("rank 2 came last in 4 of 4 collectives")


def test_a_loop_waits_for_its_loader_as_the_model_says():
    """The step is the longer of computing and of the workers' share of a batch; without workers it is both."""
    data = load(LOADING).data
    for row in data["rows"]:
        share = data["load"] / row["workers"] if row["workers"] else 0
        want = max(data["computes"], share) if row["workers"] else data["computes"] + data["load"]
        assert row["step"] == pytest.approx(want, rel=0.15)


def test_a_loop_without_workers_waits_for_each_batch():
    seen = waits(0, 4e-3, 1e-3, nsteps=3)
    assert len(seen) == 3 and all(one.waited >= 4e-3 and one.step >= one.waited + 1e-3 for one in seen)
