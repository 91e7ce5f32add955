"""Exposed time on paper: against a clock that ticks, against closed forms, and against torch's own filling of buckets."""

import random
from collections import Counter
from fractions import Fraction
from itertools import accumulate, pairwise

import pytest
import torch
import torch.distributed as dist

from helpers.memory.payloads import FIRST, REST
from helpers.overlap import (
    FSDP2,
    Bucket,
    Overlap,
    Replicas,
    Unit,
    best,
    best_number,
    by_size,
    exposed_of_equal,
    fill,
    gathered,
    overlap,
)
from helpers.parallel.data.bucketed import in_buckets
from helpers.units import KIB, MIB

CASES = 400


def ticked(queues, ready, compute=None):
    """Who keeps the link from when to when, tick by tick: queues in the order in which they are asked, `ready(op, now)`.

    compute: called at every tick before the link is asked.
    """
    spans, now, busy = {}, 0, None
    while any(queues) or busy:
        if busy and spans[busy][1] == now:
            busy = None
        if compute:
            compute(now, spans)
        for queue in queues:
            if not busy and queue and ready(queue[0], now):
                busy, seconds = queue.pop(0)
                spans[busy] = (now, now + seconds)
        now += 1
    return spans


def some_layers(rng):
    return [(rng.randint(0, 9), rng.randint(0, 50)) for _ in range(rng.randint(1, 12))]


def seconds_of(nbytes):
    return 2 + nbytes // 7


# Data parallel ----------------------------------------------------------------------------------------------------------
def test_overlap_is_what_a_ticking_clock_shows():
    rng = random.Random(1)
    for _ in range(CASES):
        layers = some_layers(rng)
        computed = sum(seconds for seconds, _ in layers)
        buckets = fill(layers, rng.randint(1, 120), rng.choice([None, 1, 30]))
        queue = [((place, bucket.ready), seconds_of(bucket.nbytes)) for place, bucket in enumerate(buckets)]
        spans = ticked([queue], lambda op, now: op[0][1] <= now)
        found = overlap(computed, buckets, seconds_of)
        assert list(found.spans) == list(spans.values())
        assert found.seconds == max([computed, *(end for _, end in spans.values())])


def test_bounds_hold_and_the_link_serves_one():
    rng = random.Random(2)
    for _ in range(CASES):
        layers = [(rng.random(), rng.randint(0, 10**9)) for _ in range(rng.randint(1, 40))]
        before, launch = rng.choice([0, rng.random()]), rng.choice([0, 1e-3])
        computed = before + sum(seconds for seconds, _ in layers)
        rate = 10 ** rng.uniform(7, 11)
        buckets = fill(layers, rng.randint(1, 10**10), before=before)
        check(overlap(computed, buckets, lambda nbytes, rate=rate: 1e-4 + nbytes / rate, launch))


def check(found: Overlap) -> None:
    """What holds of every overlap."""
    total = found.computed + found.communication
    assert max(found.computed, found.communication) <= found.seconds * (1 + 1e-12)
    assert found.seconds <= total * (1 + 1e-12)
    assert found.exposed >= 0 and found.hidden >= 0 and 0 <= found.share_hidden <= 1 + 1e-12
    assert found.exposed + found.hidden == pytest.approx(found.communication, abs=1e-9 * total)
    for lane in (sorted(found.spans), sorted(found.computing)):
        assert all(end <= start for (_, end), (start, _) in pairwise(lane))


def test_the_first_that_is_ready_is_served_first_in_whatever_order_they_are_named():
    buckets = [Bucket(5, 10), Bucket(1, 20), Bucket(2, 30)]
    found = overlap(5, buckets, lambda nbytes: nbytes // 10)
    assert found.spans == ((6, 7), (1, 3), (3, 6))
    assert (found.exposed, found.hidden, found.communication) == (2, 4, 6)


def test_a_launch_keeps_the_link():
    plain, launched = (overlap(4, [Bucket(1, 1), Bucket(1, 1)], lambda _: 2, launch) for launch in (0, 1))
    assert (plain.communication, plain.exposed) == (4, 1) and (launched.communication, launched.exposed) == (6, 3)


def test_equal_layers_expose_what_the_formula_says():
    """Exactly, in fractions: any number of layers, buckets that divide it, links from much faster to much slower."""
    second, alpha = Fraction(1, 7), Fraction(1, 50)
    for n in (1, 2, 6, 12):
        layers, computed = [(second, 100)] * n, n * second
        for nbuckets in (m for m in range(1, n + 1) if n % m == 0):
            for beta in (Fraction(1, 10**k) for k in range(2, 6)):
                found = overlap(computed, fill(layers, n * 100 // nbuckets), lambda b, beta=beta: alpha + b * beta)
                assert len(found.calls) == nbuckets
                assert found.exposed == exposed_of_equal(computed, nbuckets, alpha, n * 100 * beta)


@pytest.mark.parametrize("transfer", [0.01, 0.4, 0.99, 1.0, 3.0])
def test_no_number_of_buckets_is_better_than_the_best(transfer):
    """The real number, beside every whole one: none exposes less than either of its neighbours."""
    for alpha in (1e-4, 1e-3, 0.05):
        m = best_number(1.0, alpha, transfer)
        beside = [number for number in (int(m), int(m) + 1) if number >= 1]
        every = [exposed_of_equal(1.0, number, alpha, transfer) for number in range(1, 3 * int(m) + 10)]
        assert min(every) == min(exposed_of_equal(1.0, number, alpha, transfer) for number in beside)


def test_the_sweep_has_both_ends_and_its_best_is_the_least():
    layers = [(1e-3, 4 * MIB)] * 32
    found = by_size(layers, [8 * MIB, 16 * MIB], lambda nbytes: 2e-4 + nbytes / 10e9, before=16e-3)
    assert [(nbytes, len(o.calls)) for nbytes, o in found] == [(1, 32), (8 * MIB, 16), (16 * MIB, 8), (128 * MIB, 1)]
    last = found[-1][1]
    assert last.exposed == pytest.approx(last.communication) and last.hidden == pytest.approx(0, abs=1e-12)
    size, least = best(found)
    assert least.seconds == min(o.seconds for _, o in found) and size == 1 and least.computed == pytest.approx(48e-3)


def test_layers_without_gradients_send_nothing_in_any_bucket():
    assert [(nbytes, o.calls, o.seconds) for nbytes, o in by_size([(2, 0), (1, 0)], [], seconds_of)] == [(1, (), 3)]


def test_where_a_call_starts_for_longer_than_backward_lasts_one_bucket_is_best():
    assert best_number(1.0, 2.0, 0.5) == 1


def test_of_equals_the_best_is_the_one_with_fewest_calls():
    assert best(by_size([(1.0, 10)] * 4, [20], lambda _: 0))[0] == 40


# Filling ----------------------------------------------------------------------------------------------------------------
def test_buckets_are_filled_as_our_data_parallel_and_as_torchs_reducer_fill_them():
    """A layer for each parameter, sizes around the limits: ours (helpers.parallel.data) and reducer.cpp's own function."""
    rng = random.Random(3)
    for _ in range(60):
        numels = [rng.choice([1, 255, 256, 257, rng.randint(1, 4000)]) for _ in range(rng.randint(1, 30))]
        first, rest = rng.choice([(KIB, 4 * KIB), (4 * KIB, 4 * KIB), (1, 1), (FIRST, REST)])
        buckets = fill([(1, 4 * numel) for numel in numels], rest, first)
        params = {str(i): torch.nn.Parameter(torch.empty(n, device="meta")) for i, n in enumerate(reversed(numels))}
        ours = [[p.numel() for p in bucket] for bucket in in_buckets(params, first, rest)]
        tensors = [torch.empty(numel) for numel in numels]
        torchs, _ = dist._compute_bucket_assignment_by_size(tensors, [first, rest])
        assert [[numels[place] for place in places] for places in torchs] == ours
        assert [bucket.nbytes for bucket in buckets] == [4 * sum(bucket) for bucket in ours]
        assert [bucket.ready for bucket in buckets] == list(accumulate(map(len, ours)))


def test_a_bucket_is_ready_with_its_last_layer_and_time_without_gradients_counts():
    layers = [(1, 0), (2, 10), (3, 0), (4, 10), (5, 10), (6, 0)]
    assert fill(layers, 20, before=100) == (Bucket(110, 20), Bucket(115, 10))
    assert fill(layers, 20, first_bytes=1) == (Bucket(3, 10), Bucket(15, 20))
    assert fill([(1, 0)], 20) == ()


# Sharded ----------------------------------------------------------------------------------------------------------------
def ticking(units, ahead, reshard, buffers, separate, host_ahead, replicas=None):
    """FSDP's rules said another way, by counts, and a clock that ticks: spans of calls and of computations."""
    n = len(units)
    numbers = list(range(2 * n))
    of = lambda use: units[min(use, 2 * n - 1 - use)]  # noqa: E731
    limits = [10**9 if limit is None else limit for limit in ahead]
    gathers = [g for g in numbers if g < n or (reshard and not of(g).kept)]
    called = [(max(g - limits[g >= n], n * (g >= n)), 0, g, ("all_gather", g)) for g in gathers]
    called += [(use, 1, use, ("reduce_scatter", use)) for use in numbers[n:]]
    queue = [(op, seconds_of(moved(of(op[1]), op[0]))) for *_, op in sorted(called)]
    queues = [[q for q in queue if q[0][0] == "all_gather"], [q for q in queue if q[0][0] == "reduce_scatter"]]
    computing: list[tuple[int, int]] = []
    so_far = {}
    adding = [(("all_reduce", r), 3 * seconds_of(share(of(r), replicas.nshards))) for r in numbers[n:] if replicas]

    def ended(now):
        return sum(end <= now for _, end in computing)

    def ready(head, now):
        (kind, number), _ = head
        if kind == "all_reduce":
            return so_far.get(("reduce_scatter", number), (0, now + 1))[1] <= now
        if kind == "reduce_scatter":
            return ended(now) > number
        return ended(now) >= max(number - limits[number >= n], (n - host_ahead) * (number >= n))

    def compute(now, spans):
        so_far.update(spans)
        use = len(computing)
        if use == 2 * n or ended(now) < use:
            return
        gather = ("all_gather", use) if use in gathers else ("all_gather", 2 * n - 1 - use)
        unfinished = sum(spans.get(("reduce_scatter", r), (0, now + 1))[1] > now for r in range(n, use))
        if spans.get(gather, (0, now + 1))[1] <= now and unfinished <= (10**9 if buffers is None else buffers):
            seconds = of(use).forward if use < n else of(use).backward
            computing.append((now, now + seconds))

    links = queues if separate else [queue]
    if not (replicas and replicas.apart):
        return ticked([*links, adding], ready, compute), computing
    spans = ticked(links, ready, compute)
    so_far.update(spans)
    return spans | ticked([adding], ready), computing


def share(unit, nshards):
    return -(-moved(unit, "reduce_scatter") // nshards)


def moved(unit, kind):
    return unit.nbytes if kind == "all_gather" or unit.reduced is None else unit.reduced


def some_units(rng, mixed=False):
    """mixed: some stay gathered, and gradients of some are of another type than what is gathered."""
    many = range(rng.randint(1, 7))
    found = [Unit(rng.randint(1, 6), rng.randint(1, 9), rng.randint(1, 60)) for _ in many]
    other = lambda one: rng.choice([one.nbytes * 2, 0, None])  # noqa: E731
    return [one._replace(reduced=other(one), kept=rng.random() < 0.3) for one in found] if mixed else found


def test_gathered_is_what_a_ticking_clock_shows():
    rng = random.Random(4)
    for _ in range(CASES):
        units = some_units(rng, mixed=True)
        ahead = rng.choice([(0, 0), (1, 1), FSDP2, (3, 2), (None, None), (None, 1)])
        reshard, buffers, separate = rng.random() < 0.7, rng.choice([0, 1, 2, None]), rng.random() < 0.5
        host_ahead = rng.random() < 0.7
        several = Replicas(rng.randint(1, 4), lambda nbytes: 3 * seconds_of(nbytes), rng.random() < 0.5)
        replicas = several if rng.random() < 0.5 else None
        dials = {"reshard": reshard, "buffers": buffers, "separate": separate, "host_ahead": host_ahead}
        dials |= {"replicas": replicas}
        found = gathered(units, ahead, seconds_of, **dials)
        spans, computing = ticking(units, ahead, **dials)
        n = len(units)
        places = {key: min(key[1], 2 * n - 1 - key[1]) for key in spans}
        sizes = {key: moved(units[place], key[0]) for key, place in places.items()}
        sizes |= {key: share(units[places[key]], replicas.nshards) for key in spans if key[0] == "all_reduce"}
        calls = [((kind, place, sizes[kind, use]), spans[kind, use]) for (kind, use), place in places.items()]
        assert sorted(zip(found.calls, found.spans, strict=True)) == sorted(calls)
        assert list(found.computing) == computing
        if not (replicas and replicas.apart):
            check(found)


def test_replicas_on_a_link_of_their_own_add_what_is_left_when_the_last_shard_is_there():
    """HSDP: gathers and computations stay where they are, and one all_reduce at least is behind everything."""
    units = [Unit(4, 8, 70)] * 5
    for slow in (1, 2, 20):
        alone, both = (
            gathered(units, FSDP2, seconds_of, replicas=one)
            for one in (None, Replicas(7, lambda n, slow=slow: slow * n))
        )
        assert both.computing == alone.computing and both.gathered == alone.gathered
        assert (both.communication - alone.communication, both.gradients) == (5 * 10 * slow, alone.gradients)
        ends = [end for call, (_, end) in zip(alone.calls, alone.spans, strict=True) if call.collective != "all_gather"]
        assert both.seconds == max(end + (5 - i) * 10 * slow for i, end in enumerate(sorted(ends)))
        assert both.exposed - alone.exposed >= 10 * slow


def test_what_is_held_is_counted_moment_by_moment():
    rng = random.Random(5)
    for _ in range(100):
        units, reshard = some_units(rng, mixed=True), rng.random() < 0.7
        found = gathered(units, rng.choice([0, 1, 2, None]), seconds_of, reshard=reshard)
        n, gathers, scatters = len(units), [], []
        for call, span in zip(found.calls, found.spans, strict=True):
            (gathers if call.collective == "all_gather" else scatters).append((call, span))
        held = []
        for place, (call, (start, _)) in enumerate(gathers):
            back = 2 * n - 1 - call.place
            stays = place < n and (units[call.place].kept or not reshard)
            last = back if place >= n or stays else call.place
            held.append((start, found.computing[last][1], units[call.place].nbytes))
        waits = [
            (found.computing[2 * n - 1 - call.place][1], end, moved(units[call.place], call.collective))
            for call, (_, end) in scatters
        ]
        for moments, peak in ((held, found.gathered), (waits, found.gradients)):
            now = {start for start, _, _ in moments}
            assert peak == max(sum(b for start, end, b in moments if start <= at < end) for at in now)


def test_without_prefetching_nothing_is_hidden_and_one_unit_is_held():
    rng = random.Random(6)
    for _ in range(50):
        units = some_units(rng)
        found = gathered(units, 0, seconds_of)
        assert found.hidden == 0 and found.gathered == max(unit.nbytes for unit in units)


@pytest.mark.parametrize("prefetch", [1, 2, FSDP2])
def test_where_computation_is_longer_only_the_first_gather_and_the_last_reduction_are_exposed(prefetch):
    units = [Unit(5, 10, 21)] * 8  # a call of 5 seconds
    found = gathered(units, prefetch, seconds_of)
    assert found.exposed == 2 * seconds_of(21) and len(found.calls) == 3 * 8


def test_prefetching_holds_a_unit_more_each_where_the_link_keeps_up():
    units = [Unit(10, 20, 7)] * 8
    held = [gathered(units, prefetch, seconds_of).gathered for prefetch in (0, 1, 2, 3, None)]
    assert held == [7, 14, 21, 28, 56]


def test_gathering_everything_ahead_makes_reductions_wait_behind_it():
    units = [Unit(5, 10, 21)] * 8
    modest, every = (gathered(units, prefetch, seconds_of) for prefetch in (FSDP2, None))
    assert every.seconds > modest.seconds and every.gathered > modest.gathered


def test_parameters_that_stay_are_gathered_once_and_all_held():
    units = [Unit(10, 20, 7)] * 4
    found = gathered(units, FSDP2, seconds_of, reshard=False)
    assert [call.collective for call in found.calls] == ["all_gather"] * 4 + ["reduce_scatter"] * 4
    assert found.gathered == 28


def test_a_slow_link_makes_computation_wait_for_buffers_and_more_buffers_hold_more_gradients():
    units = [Unit(1, 2, 28)] * 6
    one, two, every = (gathered(units, 2, seconds_of, buffers=k) for k in (1, 2, None))
    assert one.gradients <= two.gradients <= every.gradients and one.gradients < every.gradients
    assert every.computing[-1][1] <= two.computing[-1][1] <= one.computing[-1][1]


def test_a_group_of_its_own_lets_gathers_pass_reductions():
    units = [Unit(1, 2, 70)] * 6
    shared, separate = (gathered(units, 1, seconds_of, buffers=None, separate=s) for s in (False, True))
    assert separate.computing[-1][1] < shared.computing[-1][1]
    assert separate.communication == shared.communication


# Words and refusals -----------------------------------------------------------------------------------------------------
def test_it_says_what_it_found():
    o = overlap(10e-3, [Bucket(4e-3, 1), Bucket(10e-3, 1)], lambda _: 5e-3)
    assert str(o) == "2 calls, 10 ms: 5 ms hidden (50%), 5 ms exposed; a step of 15 ms"
    assert str(gathered([Unit(1, 1, MIB)], 0, lambda _: 0)).endswith("a step of 2 s; up to 1 MiB gathered")


def test_nothing_to_send_is_all_hidden():
    o = overlap(1.0, [], seconds_of)
    assert (o.seconds, o.exposed, o.communication, o.share_hidden) == (1.0, 0, 0, 1.0)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: fill([], 1), "expected layers"),
        (lambda: fill([(1, 1.5)], 1), "gradients of layer 0 is a whole number of bytes, at least 0, got 1.5"),
        (lambda: fill([(-1, 1)], 1), "seconds of layer 0 is a number of seconds, 0 or more, got -1"),
        (lambda: fill([(1, 1)], 0), "bucket_bytes is a whole number of bytes, at least 1, got 0"),
        (lambda: fill([(1, 1)], 1, True), "first_bytes is a whole number of bytes, at least 1, got True"),
        (lambda: overlap(1, [Bucket(2, 1)], seconds_of), "bucket 0 is ready at 2 s, after all computation, 1 s"),
        (lambda: overlap(1, [Bucket(1.01, 1)], seconds_of), r"bucket 0 is ready at 1\.01 s, after all computation"),
        (lambda: overlap(float("nan"), [], seconds_of), "computed is a number of seconds"),
        (
            lambda: overlap(1, [Bucket(1, 3)], lambda _: -1),
            r"seconds_of\(3\) is a number of seconds, 0 or more, got -1",
        ),
        (lambda: gathered([], 1, seconds_of), "expected units"),
        (lambda: gathered([Unit(1, 1, 1)], -1, seconds_of), "prefetch is a whole number of at least 0, or None"),
        (
            lambda: gathered([Unit(1, 1, 1)], 1, seconds_of, replicas=Replicas(0, seconds_of)),
            "a replica is shared out among 1 rank or more, got 0",
        ),
        (lambda: gathered([Unit(1, 1, 1)], 1, seconds_of, buffers=-1), "buffers is a whole number of at least 0, or"),
        (lambda: gathered([Unit(1, 1, True)], 1, seconds_of), "unit 0 is a whole number of bytes"),
        (lambda: gathered([Unit(1, 1, 1, -5)], 1, seconds_of), "gradients of unit 0 is a whole .* at least 0, got -5"),
        (lambda: gathered([Unit(1, -1, 1)], 1, seconds_of), "backward of unit 0 is a number of seconds, .* got -1"),
        (lambda: gathered([Unit(1, 1, 1)], (1,), seconds_of), r"prefetch is one number, or \(forward, backward\), got"),
        (
            lambda: overlap(1, [Bucket(-1, 1)], seconds_of),
            "ready of bucket 0 is a number of seconds, 0 or more, got -1",
        ),
        (lambda: overlap(1, [Bucket(0, -1)], seconds_of), "bucket 0 is a whole number of bytes, at least 0, got -1"),
        (lambda: overlap(1, [], seconds_of, launch=-1), "launch is a number of seconds, 0 or more, got -1"),
        (lambda: overlap("1 s", [], seconds_of), "computed is a number of seconds, 0 or more, got '1 s'"),
        (lambda: exposed_of_equal(1, 1, -1, 1), "alpha is a number of seconds, 0 or more, got -1"),
        (lambda: best_number(1, float("inf"), 1), "alpha is a number of seconds, 0 or more, got inf"),
        (lambda: exposed_of_equal(1, 0, 1, 1), "nbuckets is a whole number of at least 1, got 0"),
        (lambda: best_number(1, 0, 1), "more buckets are always better"),
    ],
)
def test_what_is_no_time_or_size_is_refused_by_name(wrong, said):
    with pytest.raises(ValueError, match=said):
        wrong()


def test_a_unit_that_is_kept_is_gathered_once_and_gradients_may_be_wider():
    units = [Unit(0, 0, 4, 8, kept=True), Unit(2, 4, 10, 20), Unit(2, 4, 10, 20)]
    found = gathered(units, FSDP2, float)
    told = Counter((call.collective, call.place, call.nbytes) for call in found.calls)
    assert told[("all_gather", 0, 4)] == 1 and told[("all_gather", 1, 10)] == told[("all_gather", 2, 10)] == 2
    assert told[("reduce_scatter", 0, 8)] == told[("reduce_scatter", 2, 20)] == 1
    assert found.communication == 4 + 4 * 10 + 8 + 2 * 20
    assert found.gathered >= 4 + 10 and found.gradients >= 20
