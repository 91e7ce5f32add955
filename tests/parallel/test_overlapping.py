"""Exposed time of real steps over emulated links is what the model says, bucket size by bucket size."""

import statistics

import pytest

from helpers.facts import Link
from helpers.overlap import Unit, gathered
from helpers.parallel.overlapping import WAYS, Layer, measured, predicted
from helpers.ranks import RankError, Ranks
from helpers.units import KIB, MIB, Bandwidth

LINK = Link(3e-3, Bandwidth(20e6, "one way", "GPU", "fitted"))  # 3 ms and 20 MB/s
LAYERS = [Layer(4e-3, 20e-3, 256 * KIB)] * 8
LARGE = [Layer(8e-3, 40e-3, MIB)] * 3
CLOSE = 0.15
LIMIT = 60.0  # seconds for a few steps of less than a second
QUICK = [Layer(0.0, 0.0, 64), Layer(1e-3, 1e-3, 128), Layer(0.0, 1e-3, 32)]


@pytest.fixture(scope="module")
def linked():
    """Four ranks on the link."""
    with Ranks(4, backend="gloo", link=LINK, timeout=20) as ranks:
        yield ranks


def exposed(steps) -> float:
    """The median over ranks and steps."""
    return statistics.median(one.exposed for step in steps for one in step)


@pytest.mark.alone
@pytest.mark.parametrize("bucket_bytes", [256 * KIB, 512 * KIB, MIB, 2 * MIB])
def test_exposed_time_is_within_15_percent_of_the_model(linked, bucket_bytes):
    """All of it well above what a busy machine adds: 90 ms and more."""
    steps = linked.run(measured, "overlapped", LAYERS, bucket_bytes, limit=LIMIT)[0]
    want = predicted("overlapped", LAYERS, LINK, 4, bucket_bytes)
    assert want.exposed > 0.09
    assert exposed(steps) == pytest.approx(want.exposed, rel=CLOSE)


@pytest.mark.alone
@pytest.mark.parametrize("way", ["bucketed", "zero-3", "zero-3, prefetched"])
def test_other_ways_are_within_15_percent_of_the_model(linked, way):
    """Calls one after another, each with a millisecond or two for those who wait: calls of 50 ms."""
    steps = linked.run(measured, way, LARGE, 2 * MIB, 2, limit=LIMIT)[0]
    assert exposed(steps) == pytest.approx(predicted(way, LARGE, LINK, 4, 2 * MIB).exposed, rel=CLOSE)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_calls_what_the_model_calls_and_ends_with_the_mean(linked, way):
    """`measured` holds every gradient against the mean; here calls and bytes, and lanes on which nothing overlaps itself."""
    want = predicted(way, QUICK, LINK, 4, 128)
    for step in linked.run(measured, way, QUICK, 128, 1, limit=LIMIT)[0][0]:
        calls = [event for event in step.events if event.kind == "communication"]
        assert sorted((e.what.split()[0], e.nbytes) for e in calls) == sorted(
            (c.collective, c.nbytes) for c in want.calls
        )
        for lane in (calls, [event for event in step.events if event.kind != "communication"]):
            assert all(
                one.start <= one.end <= after.start
                for one, after in zip(lane, [*lane[1:], lane[-1]._replace(start=1e9)], strict=True)
            )
        busy = sum(e.end - e.start for e in step.events if e.kind != "communication")
        assert busy == pytest.approx(step.seconds) and step.exposed >= 0


def test_a_bucket_that_stands_leaves_before_the_layers_behind_it_have_computed(linked):
    for step in linked.run(measured, "overlapped", LAYERS[:3], 1, 1, limit=LIMIT)[0][0]:
        first = next(event for event in step.events if event.what == "all_reduce 0")
        last = next(event for event in step.events if event.what == "backward 0")
        assert first.start < last.start


def test_on_paper_what_leaves_after_backward_hides_nothing():
    for way in ("naive", "bucketed"):
        found = predicted(way, LAYERS, LINK, 4, MIB)
        assert found.hidden == pytest.approx(0, abs=1e-12) and len(found.calls) == (8 if way == "naive" else 2)


def test_on_paper_zero_3_waits_for_every_call_and_prefetching_hides_gathers():
    waits, ahead = (predicted(way, LAYERS, LINK, 4) for way in ("zero-3", "zero-3, prefetched"))
    assert waits.hidden == pytest.approx(0, abs=1e-12) and 0 < ahead.hidden < waits.communication
    units = [Unit(*layer) for layer in LAYERS]
    assert waits.communication == pytest.approx(gathered(units, None, lambda _: 1).communication * waits.spans[0][1])


def test_what_is_no_way_and_no_share_is_refused_before_anything_moves(linked):
    with pytest.raises(
        ValueError, match="a way is one of naive, bucketed, overlapped, zero-3, zero-3, prefetched, got 'ddp'"
    ):
        predicted("ddp", LAYERS, LINK, 4)
    with pytest.raises(RankError, match="layer 0 has 20 bytes: expected a multiple of 16"):
        linked.run(measured, "naive", [Layer(0, 0, 20)])
