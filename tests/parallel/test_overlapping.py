"""Exposed time of real steps over emulated links is what the model says, bucket size by bucket size."""

import contextlib
import statistics
from types import SimpleNamespace

import pytest
import torch
from lanes import some

from helpers.facts import Link
from helpers.overlap import Overlap, Unit, gathered
from helpers.parallel.overlapping import BUSY, WAYS, Layer, dials, measured, oversleep, predicted
from helpers.parallel.overlapping import slept as sleeping
from helpers.parallel.overlapping.piped import piped
from helpers.pipeline import SCHEDULES, Times
from helpers.ranks import RankError, Ranks
from helpers.units import KIB, Bandwidth

LINK = Link(10e-3, Bandwidth(10e6, "one way", "GPU", "fitted"))  # 10 ms and 10 MB/s: a wake-up of some ms is no matter
SIZE = 96 * KIB
LAYERS = [Layer(2e-3, 30e-3, SIZE)] * 6
CLOSE, REPS = 0.15, 5
LIMIT = 60.0  # seconds for a few steps of less than a second
QUICK = [Layer(0.0, 0.0, 64), Layer(1e-3, 1e-3, 128), Layer(0.0, 1e-3, 32)]
COMPUTED = ["forward 0", "forward 1", "forward 2", "backward 2", "backward 1", "backward 0"]


@pytest.fixture(scope="module")
def linked():
    """Four ranks on the link."""
    with Ranks(4, backend="gloo", link=LINK, timeout=20) as ranks:
        yield ranks


def exposed(steps, want: Overlap) -> float:
    """The median over ranks and steps. Where sleeps do not end when they should, neither do waits, and nothing is measured."""
    longer = oversleep(steps, want.computed)
    assert longer >= 0, "no sleep ends early"
    if longer > BUSY:
        pytest.skip(f"a busy machine: sleeps take {longer:.0%} longer than asked")
    return statistics.median(one.exposed for step in steps for one in step)


@pytest.mark.alone
@pytest.mark.parametrize(
    "bucket_bytes",
    some([SIZE, 2 * SIZE, 3 * SIZE, 6 * SIZE], [3 * SIZE], "exposed time with more sizes of buckets"),
)
def test_exposed_time_is_within_15_percent_of_the_model(linked, bucket_bytes):
    """The median of four ranks and five steps; all of it well above what a machine adds, 90 ms and more."""
    steps = linked.run(measured, "overlapped", LAYERS, bucket_bytes, REPS, limit=LIMIT)[0]
    want = predicted("overlapped", LAYERS, LINK, 4, bucket_bytes)
    assert want.exposed > 0.09
    assert exposed(steps, want) == pytest.approx(want.exposed, rel=CLOSE)


@pytest.mark.alone
@pytest.mark.parametrize(
    "way",
    some(["bucketed", "zero-3", "zero-3, prefetched"], ["bucketed"], "exposed time of more ways on an emulated link"),
)
def test_other_ways_are_within_15_percent_of_the_model(linked, way):
    steps = linked.run(measured, way, LAYERS[:3], 2 * SIZE, 2, limit=LIMIT)[0]
    want = predicted(way, LAYERS[:3], LINK, 4, 2 * SIZE)
    assert exposed(steps, want) == pytest.approx(want.exposed, rel=CLOSE)


class Noting:
    """Lanes that note what is computed."""

    def __init__(self):
        self.computed = []

    @contextlib.contextmanager
    def span(self, kind, what):
        self.computed.append((kind, what))
        yield


def test_layers_sleep_for_as_long_as_they_are_told(monkeypatch):
    """Nothing else is computing: sleeps that last longer are the machine's doing, and excuse the tests above."""
    asked, lanes = [], Noting()
    # Other threads of this process may sleep
    monkeypatch.setattr(sleeping, "time", SimpleNamespace(sleep=asked.append))
    monkeypatch.setattr(sleeping.dist, "get_rank", lambda: 2)
    model = torch.nn.Sequential(*(sleeping.Slept(one, number, lanes) for number, one in enumerate(QUICK)))
    model(torch.zeros(1)).sum().backward()
    assert asked == [one.forward for one in QUICK] + [one.backward for one in reversed(QUICK)]
    assert lanes.computed == [("compute", what) for what in COMPUTED]
    assert all(layer.weight.grad.eq(3).all() for layer in model)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_calls_what_the_model_calls_and_ends_with_the_mean(linked, way):
    """`measured` holds every gradient against the mean; here calls and bytes, and lanes on which nothing overlaps itself."""
    want = predicted(way, QUICK, LINK, 4, 128)
    for step in linked.run(measured, way, QUICK, 128, 1, limit=LIMIT)[0][0]:
        calls = [event for event in step.events if event.kind == "communication"]
        assert sorted((e.what.split()[0], e.nbytes) for e in calls) == sorted(
            (c.collective, c.nbytes) for c in want.calls
        )
        assert [event.what for event in step.events if event.kind == "compute"] == COMPUTED
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
        found = predicted(way, LAYERS, LINK, 4, 3 * SIZE)
        assert found.hidden == pytest.approx(0, abs=1e-12) and len(found.calls) == (6 if way == "naive" else 2)


def test_on_paper_zero_3_waits_for_every_call_and_prefetching_hides_gathers():
    waits, ahead = (predicted(way, LAYERS, LINK, 4) for way in ("zero-3", "zero-3, prefetched"))
    assert waits.hidden == pytest.approx(0, abs=1e-12) and 0 < ahead.hidden < waits.communication
    turn = ahead.computing[len(LAYERS) - 1][1]  # the host asks for backward's shards when forward has ended
    gathers = [span for call, span in zip(ahead.calls, ahead.spans, strict=True) if call.collective == "all_gather"]
    assert min(start for start, _ in gathers[len(LAYERS) :]) == turn
    for call, (start, end) in zip(ahead.calls, ahead.spans, strict=True):
        beside = [span for span in ahead.computing if span[0] < end and start < span[1]]
        assert call.collective == "all_gather" or not beside, "every reduce_scatter is waited for at once"
    units = [Unit(*layer) for layer in LAYERS]
    assert waits.communication == pytest.approx(gathered(units, None, lambda _: 1).communication * waits.spans[0][1])


def test_what_is_no_way_and_no_share_is_refused_before_anything_moves(linked):
    with pytest.raises(
        ValueError, match="a way is one of naive, bucketed, overlapped, zero-3, zero-3, prefetched, got 'ddp'"
    ):
        predicted("ddp", LAYERS, LINK, 4)
    with pytest.raises(RankError, match="layer 0 has 20 bytes: expected a multiple of 16"):
        linked.run(measured, "naive", [Layer(0, 0, 20)])


def test_prefetching_holds_a_unit_more_each_and_calls_nothing_more(ranks):
    """At the peak, in backward, one layer's activations are there longer and one share of gradients is not yet made."""
    unit, width = dials.unit_nbytes(), 64
    # A layer keeps its input and what comes before its nonlinearity
    activations = 2 * (dials.TRAINING.batch // 4) * width * 4
    one, two, buffered = ranks.run(dials.turned, ("1 prefetched", "2 prefetched", "2 buffers"))[0]
    assert one[1:3] == two[1:3] == buffered[1:3] == (32, 16)
    assert two.peak - one.peak == unit - unit // 4 + activations
    assert buffered.peak - one.peak == unit


def test_a_dial_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"a setting is one of as it comes, .*got '9 prefetched'"):
        dials.turned(("9 prefetched",))


def test_a_pipelines_timeline_has_the_schedules_computations_in_their_order(ranks):
    s = SCHEDULES["1f1b"](4, 4)
    for step in ranks.run(piped, s, Times(1e-3, 1e-3, 1e-3))[0][0]:
        computed = [event.what for event in step.events if event.kind == "compute"]
        assert computed == [str(action) for action in s.computed[step.rank]]
        assert step.computed + sum(e.end - e.start for e in step.events if e.kind == "idle") == pytest.approx(
            step.seconds
        )
