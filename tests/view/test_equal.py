"""What the player computes in JavaScript is what Python computes: states, faults, prices, bytes and the text of figures."""

import json
import math
import random
import subprocess
from pathlib import Path

import numpy as np
import pytest

from helpers.collectives import PROMISES, Schedule, Transfer, price, simulate
from helpers.facts import LINKS, Link
from helpers.units import Bandwidth, bandwidth_text, nbytes_text, seconds_text
from helpers.view.trace import build, catalogue, trace

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


def catalogued() -> list[Schedule]:
    """Everything that a widget can ask for, on every number of ranks; chunk counts from the offer."""
    return [
        build(e["collective"], e["algorithm"], nranks, nchunks=nchunks)
        for e in catalogue()
        for nranks in e["nranks"]
        for nchunks in e["nchunks"] or [None]
    ]


def some_link(rng: random.Random) -> Link:
    if rng.random() < 0.5:
        return rng.choice(list(LINKS.values()))
    return Link(rng.choice([0.0, 10 ** rng.uniform(-8, -3)]), Bandwidth(10 ** rng.uniform(6, 12), "one way", "GPU"))


@pytest.fixture(scope="module")
def cases() -> list[tuple[Schedule, int, Link]]:
    rng = random.Random(20)
    schedules = [random_schedule(rng) for _ in range(RANDOM_CASES)] + catalogued()
    return [(s, rng.choice([0, 1, 7, 1000, 4096, 2**26, rng.randrange(2**34)]), some_link(rng)) for s in schedules]


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
def played(cases, figures, node, tmp_path_factory) -> dict:
    """One node process plays everything."""
    sent = [
        {"trace": trace(s), "nbytes": nbytes, "link": {"alpha": link.alpha, "bandwidth": link.bandwidth.value}}
        for s, nbytes, link in cases
    ]
    path = tmp_path_factory.mktemp("cases") / "cases.json"
    path.write_text(json.dumps({"cases": sent, **figures}), encoding="utf-8")
    script = Path(__file__).with_name("play_cases.mjs")
    done = subprocess.run([node, script, path], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_there_are_enough_cases(cases):
    assert len(cases) >= 1000
    assert {s.collective for s, _, _ in cases} == set(PROMISES)
    assert sum(s.nswitches > 0 for s, _, _ in cases) > 100


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


def test_every_price_is_the_same(cases, played):
    for (s, nbytes, link), got in zip(cases, played["cases"], strict=True):
        want = price(s, nbytes, link)
        assert got["seconds"] == pytest.approx(want.seconds, rel=1e-12, abs=0)
        assert got["steps"] == pytest.approx([step.seconds for step in want.steps], rel=1e-12, abs=0)
        busbw = math.inf if got["busbw"] is None else got["busbw"]  # JSON has no infinity
        assert busbw == pytest.approx(want.busbw, rel=1e-12, abs=0)


def test_bytes_of_every_rank_are_the_same(cases, played):
    for (s, nbytes, _), got in zip(cases, played["cases"], strict=True):
        chunk = nbytes / (s.nranks if s.collective == "all_to_all" else s.nchunks)
        assert got["sent"][: s.nranks] == pytest.approx([n * chunk for n in s.sent()], rel=1e-12)
        assert got["received"][: s.nranks] == pytest.approx([n * chunk for n in s.received()], rel=1e-12)


@pytest.mark.parametrize(("kind", "text"), [("sizes", nbytes_text), ("times", seconds_text), ("rates", bandwidth_text)])
def test_figures_read_the_same(kind, text, figures, played):
    unlike = [(v, text(v), got) for v, got in zip(figures[kind], played[kind], strict=True) if text(v) != got]
    assert unlike == []
