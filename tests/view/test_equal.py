"""What the player computes in JavaScript is what Python computes: states, faults, prices, bytes and the text of figures."""

import math
import random
from collections import Counter
from itertools import accumulate

import numpy as np
import pytest
from offer import catalogued

from helpers.collectives import PROMISES, Nodes, Price, Schedule, Transfer, price, simulate
from helpers.collectives.ports import Tariff, chunk_nbytes, flows, under
from helpers.facts import LINKS, Link
from helpers.units import Bandwidth, bandwidth_text, nbytes_text, seconds_text
from helpers.view.player.spec import stops
from helpers.view.shared.schedules.traces import as_data, as_spec

RANDOM_CASES = 800


def random_step(rng: random.Random, nranks: int, nswitches: int, nchunks: int) -> tuple[Transfer, ...]:
    """Any legal step: one writer per slot, except additions into a switch."""
    places, written, step = nranks + nswitches, {}, []
    for _ in range(rng.randint(1, 2 * places)):
        src, dst = rng.sample(range(places), 2)
        chunk, op = rng.randrange(nchunks), rng.choice(["copy", "reduce"])
        first = written.setdefault((dst, chunk), op)
        fresh = all((t.dst, t.chunk) != (dst, chunk) for t in step)
        if fresh or (dst >= nranks and op == first == "reduce"):
            step.append(Transfer(src, dst, chunk, op))
    return tuple(step)


def random_schedule(rng: random.Random) -> Schedule:
    """Any schedule that fits its collective's shape; most break the promise, which must be seen too."""
    promise = rng.choice(list(PROMISES.values()))
    nranks, nswitches = rng.randint(2, 7), rng.choice([0, 0, 1, 2])
    nchunks = nranks * rng.randint(1, 2) if promise.chunks_per_rank else rng.randint(1, 6)
    if promise.name == "all_to_all":
        nchunks = nranks * nranks
    steps = tuple(random_step(rng, nranks, nswitches, nchunks) for _ in range(rng.randint(0, 7)))
    root = rng.randrange(nranks) if promise.rooted else None
    return Schedule(promise.name, "random", nranks, nchunks, steps, root, nswitches)


def some_link(rng: random.Random) -> Link:
    if rng.random() < 0.5:
        return rng.choice(list(LINKS.values()))
    return Link(rng.choice([0.0, 10 ** rng.uniform(-8, -3)]), Bandwidth(10 ** rng.uniform(6, 12), "one way", "GPU"))


def some_network(rng: random.Random, s: Schedule) -> Link | Nodes:
    """One link, or nodes of any size that fits, with fewer NICs than GPUs in half of them."""
    inside = some_link(rng)
    if s.nswitches or rng.random() < 0.5:
        return inside
    gpus = rng.choice([g for g in range(1, s.nranks + 1) if s.nranks % g == 0])
    return Nodes(gpus, inside, some_link(rng), rng.choice([None, rng.randint(1, gpus)]))


def as_the_player_takes_it(network: Link | Nodes) -> dict:
    if isinstance(network, Nodes):
        across = as_the_player_takes_it(network.across)
        return as_the_player_takes_it(network.inside) | {"gpus": network.gpus, "nics": network.nics, "across": across}
    return as_spec(network)


@pytest.fixture(scope="module")
def cases() -> list[tuple[Schedule, int, Link | Nodes]]:
    rng = random.Random(20)
    schedules = [random_schedule(rng) for _ in range(RANDOM_CASES)] + catalogued()
    sizes = [0, 1, 7, 1000, 4096, 2**26]
    return [(s, rng.choice([*sizes, rng.randrange(2**34)]), some_network(rng, s)) for s in schedules]


@pytest.fixture(scope="module")
def figures() -> dict[str, list[float]]:
    rng = random.Random(21)
    sizes = [0, 1, 1023, 1024, 1048576, 1.125 * 2**20, 2.375 * 2**30, 999.5 * 1024, 12.25, 12.75, 100.5]
    return {
        "sizes": sizes
        + [round(2 ** rng.uniform(0, 44)) for _ in range(500)]
        + [rng.uniform(1, 2e5) for _ in range(500)],
        "times": [0, 1, 1e-3, 9.995e-4, 9.996e-4, 1.2e-5] + [10 ** rng.uniform(-9, 3) for _ in range(1000)],
        "rates": [4.5e11, 1e9, 99.95e9, 99.94e9] + [10 ** rng.uniform(7.5, 13) for _ in range(500)],
    }


@pytest.fixture(scope="module")
def played(cases, figures, play) -> dict:
    """One node process plays everything."""
    sent = [
        {"trace": as_data(s), "nbytes": nbytes, "link": as_the_player_takes_it(network)} for s, nbytes, network in cases
    ]
    return play("cases", {"cases": sent, **figures})


def test_there_are_enough_cases(cases):
    assert len(cases) >= 1000
    assert {s.collective for s, _, _ in cases} == set(PROMISES)
    assert sum(s.nswitches > 0 for s, _, _ in cases) > 100
    shared = [n for _, _, n in cases if isinstance(n, Nodes) and n.nics is not None and n.nics < n.gpus]
    assert sum(isinstance(n, Nodes) for _, _, n in cases) > 500 and len(shared) > 100


def test_every_state_is_the_same(cases, played):
    for (s, _, _), got in zip(cases, played["cases"], strict=True):
        assert got["header"] == [s.collective, s.algorithm, s.nranks, s.nchunks, s.root, s.nswitches]
        before = PROMISES[s.collective].before(s.nranks, s.nchunks, s.root)
        assert [state.ravel().tolist() for state in simulate(s, before)] == got["states"], str(s)


def test_the_same_slots_are_wrong(cases, played):
    broken = 0
    for (s, _, _), got in zip(cases, played["cases"], strict=True):
        promise = PROMISES[s.collective]
        *_, last = simulate(s, promise.before(s.nranks, s.nchunks, s.root))
        after = promise.after(s.nranks, s.nchunks, s.root)
        wrong = ((last[: s.nranks] != after) & (after >= 0)).any(axis=2)
        assert np.argwhere(wrong).tolist() == got["wrong"], str(s)
        broken += bool(got["wrong"])
    assert 500 < broken < len(cases) - 200  # both kinds were tried


def seconds_of_steps(cost: Price) -> list[float]:
    """As the player counts them: what a call costs is of its first step."""
    first, *rest = [step.seconds for step in cost.steps] or [0.0]
    return [cost.call + first, *rest] if cost.steps else []


def test_every_price_is_the_same(cases, played):
    for (s, nbytes, link), got in zip(cases, played["cases"], strict=True):
        want = price(s, nbytes, link)
        assert got["seconds"] == pytest.approx(want.seconds, rel=1e-12, abs=0)
        assert got["steps"] == pytest.approx(seconds_of_steps(want), rel=1e-12, abs=0)
        assert got.get("protocol", "") == want.protocol
        busbw = math.inf if got["busbw"] is None else got["busbw"]  # JSON has no infinity
        assert busbw == pytest.approx(want.busbw, rel=1e-12, abs=0)


def test_bytes_of_every_rank_are_the_same(cases, played):
    for (s, nbytes, _), got in zip(cases, played["cases"], strict=True):
        chunk = nbytes / (s.nranks if s.collective == "all_to_all" else s.nchunks)
        assert got["sent"][: s.nranks] == pytest.approx([n * chunk for n in s.sent()], rel=1e-12)
        assert got["received"][: s.nranks] == pytest.approx([n * chunk for n in s.received()], rel=1e-12)


def test_every_link_and_nic_carried_the_same(cases, played):
    for (s, nbytes, network), got in zip(cases, played["cases"], strict=True):
        chunk = nbytes / (s.nranks if s.collective == "all_to_all" else s.nchunks)
        links, nics = Counter(), Counter()
        for t in (t for step in s.steps for t in step):
            links[t.src, t.dst] += chunk
            # The NICs; the uplinks come after them
            for name, _ in getattr(network, "wires", lambda *_: ())(t.src, t.dst)[:2]:
                nics[name] += chunk
        assert {(a, b): n for a, b, n in got["links"]} == pytest.approx(dict(links), rel=1e-12)
        found = {
            (way, *map(int, nic.split(","))): n
            for nic, both in got["nics"]
            for way, n in zip(("out", "in"), both, strict=True)
        }
        assert {nic: n for nic, n in found.items() if n} == pytest.approx(
            {nic: n for nic, n in nics.items() if n}, rel=1e-12
        )


def busy_by_hand(s: Schedule, nbytes: float, network: Link | Nodes, rank: int) -> float:
    """Seconds that a rank sends or receives: a sweep over what its two ports do, message after message, without shared NICs."""
    cost = price(s, nbytes, network)
    (line,) = under(network, cost.protocol or None)
    tariff, start, total = Tariff(s.nranks, chunk_nbytes(s, nbytes), line), 0.0, 0.0
    costs = cost.steps
    for step, cost in zip(flows(s), costs, strict=True):
        free, spans = Counter(), []
        for (src, dst), n in step:
            ports, alpha, transfer, _ = tariff.charge(src, dst, n)
            for port, mine in zip(ports, (src, dst), strict=True):
                if mine == rank:
                    spans.append((free[port], free[port] + alpha + transfer))
                free[port] += alpha + transfer
        end = 0.0
        for a, b in sorted(spans):
            total += max(0.0, b - max(a, end))
            end = max(end, b)
        start += cost.seconds
    return total


def test_idle_time_is_what_is_left_of_the_time(cases, played):
    tried = 0
    for (s, nbytes, network), got in list(zip(cases, played["cases"], strict=True))[::6]:
        cost = price(s, nbytes, network)
        whole = cost.seconds - cost.call
        if (
            not whole
            or getattr(network, "nics", None) is not None
            or (s.nswitches and getattr(network, "switch", None))
        ):
            continue
        want = [1 - busy_by_hand(s, nbytes, network, rank) / whole for rank in range(s.nranks)]
        assert got["idle"] == pytest.approx(want, abs=1e-9), str(s)
        tried += 1
    assert tried > 120


def test_shared_nics_never_end_a_message_after_its_step(cases, played):
    """Where the price has no queue of its own, the bars wait for port and NIC; the longest wait is the step."""
    shared = 0
    for (_, _, network), got in zip(cases, played["cases"], strict=True):
        if isinstance(network, Nodes):
            for end, seconds in zip(got["ends"], got["steps"], strict=True):  # the first with its call
                assert end == pytest.approx(seconds, rel=1e-9)
                shared += 1
    assert shared > 1000


def test_one_clock_stops_where_either_ends_a_step(cases, played):
    """The stops of each case beside the next one's, as Python counts them too."""
    tried = 0
    for i, got in enumerate(played["pairs"]):
        pair = [price(*cases[i]), price(*cases[i + 1])]
        seconds = [one for cost in pair for one in seconds_of_steps(cost)]
        if not seconds or min(seconds) < 1e-9 * sum(seconds):
            continue  # steps that take no time have no stop of their own
        tried += 1
        assert got["stops"] == pytest.approx(stops(pair), rel=1e-9)
        steps = [len(cost.steps) for cost in pair]
        assert got["first"] == [0, 0] and got["last"] == steps
        for k, done in enumerate(got["done"]):
            ends = [list(accumulate(seconds_of_steps(cost))) for cost in pair]
            want = [sum(end <= got["stops"][k] * (1 + 1e-9) for end in own) for own in ends]
            assert done == want
    assert tried > 60


@pytest.mark.parametrize(("kind", "text"), [("sizes", nbytes_text), ("times", seconds_text), ("rates", bandwidth_text)])
def test_figures_read_the_same(kind, text, figures, played):
    unlike = [(v, text(v), got) for v, got in zip(figures[kind], played[kind], strict=True) if text(v) != got]
    assert unlike == []
