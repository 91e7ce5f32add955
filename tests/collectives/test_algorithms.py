"""Every entry of the catalogue, proved at every P up to 64: the promise, the steps, the bytes, the owner."""

import math
from dataclasses import replace

import numpy as np
import pytest

from helpers.collectives import (
    CATALOGUE,
    PROMISES,
    Schedule,
    ScheduleError,
    Transfer,
    check,
    contributions,
    lower,
    owner,
    simulate,
)
from helpers.collectives.algorithms import ring

P64 = range(1, 65)
ROOTED = [key for key in CATALOGUE if PROMISES[key[0]].rooted]


def rounds(n):
    return math.ceil(math.log2(n))


# steps, and the most buffers that one rank sends (in chunks: sent * nchunks)
COUNTS = {
    ("all_reduce", "ring"): lambda n: (2 * (n - 1), 2 * (n - 1)),
    ("all_reduce", "flat"): lambda n: (2 * (n - 1), n - 1 if n > 1 else 0),
    ("all_reduce", "binomial"): lambda n: (2 * rounds(n), rounds(n)),
    ("reduce_scatter", "ring"): lambda n: (n - 1, n - 1),
    ("reduce_scatter", "flat"): lambda n: (n - 1, n - 1),
    ("all_gather", "ring"): lambda n: (n - 1, n - 1),
    ("all_gather", "flat"): lambda n: (n - 1, n - 1),
    ("broadcast", "ring"): lambda n: (2 * n - 2, n if n > 1 else 0),
    ("broadcast", "flat"): lambda n: (n - 1, n - 1),
    ("broadcast", "binomial"): lambda n: (rounds(n), rounds(n)),
    ("reduce", "flat"): lambda n: (n - 1, 1 if n > 1 else 0),
    ("reduce", "binomial"): lambda n: (rounds(n), 1 if n > 1 else 0),
    ("scatter", "flat"): lambda n: (n - 1, n - 1),
    ("gather", "flat"): lambda n: (n - 1, 1 if n > 1 else 0),
    ("all_to_all", "flat"): lambda n: (n - 1, n - 1),
}


def test_every_entry_has_counts():
    assert COUNTS.keys() == CATALOGUE.keys()


@pytest.mark.parametrize("key", CATALOGUE, ids="-".join)
def test_promise_steps_and_chunks_at_every_p(key):
    for n in P64 if key != ("all_to_all", "flat") else range(1, 33):
        schedule = CATALOGUE[key](nranks=n)
        check(schedule)
        assert (schedule.collective, schedule.algorithm) == key
        assert (len(schedule.steps), max(schedule.sent())) == COUNTS[key](n), n


@pytest.mark.parametrize("key", ROOTED, ids="-".join)
def test_every_root(key):
    for n in (1, 2, 3, 4, 7, 8, 13):
        for root in range(n):
            check(CATALOGUE[key](nranks=n, root=root))


def test_one_port_each_way_per_step():
    """No rank sends twice or receives twice in a step: no port is used twice."""
    for key, build in CATALOGUE.items():
        for n in (2, 3, 8, 13):
            for step in build(nranks=n).steps:
                assert len({t.src for t in step}) == len({t.dst for t in step}) == len(step), key


@pytest.mark.parametrize("n", [2, 3, 4, 8, 64])
def test_the_ring_sends_the_least_possible(n):
    """2(P-1)/P of the buffer: exactly, on every rank; and only ever to the next rank."""
    schedule = ring.all_reduce(n)
    assert schedule.sent() == schedule.received() == [2 * (n - 1)] * n
    assert schedule.nchunks == n
    assert {(t.dst - t.src) % n for step in schedule.steps for t in step} == {1}


@pytest.mark.parametrize("first", [-1, 0, 1, 5])
def test_who_owns_what_half_way(first):
    """Erratum E1: a ring in which rank r first sends chunk r + first leaves rank r with chunk r + first + 1, and no other."""
    for n in range(2, 65):
        schedule = ring.all_reduce(n, first=first)
        check(schedule)
        assert all(t.chunk == (t.src + first) % n for t in schedule.steps[0])
        half = list(contributions(replace(schedule, steps=schedule.steps[: n - 1])))[-1]
        whole = np.argwhere((half == 1).all(axis=2))
        assert whole.tolist() == [[r, (r + first + 1) % n] for r in range(n)]


def test_the_article_states_the_wrong_owner():
    """Four ranks, rank r first sends chunk r: the article says that GPU 0 ends with chunk 3; it ends with chunk 1."""
    reduce_scatter = replace(ring.all_reduce(4, first=0), steps=ring.all_reduce(4, first=0).steps[:3])
    half = list(contributions(reduce_scatter))[-1]
    assert (half[0] == 1).all(axis=1).tolist() == [False, True, False, False]
    with pytest.raises(ScheduleError, match=r"rank 0 chunk 0 holds \[0\], should hold \[0 \+ 1 \+ 2 \+ 3\]"):
        check(reduce_scatter.named("reduce_scatter", "ring"))


def test_pipelined_broadcast():
    for n in (1, 2, 3, 4, 8):
        for nchunks in (1, 2, 5, 16):
            for root in range(n):
                schedule = ring.broadcast(n, root, nchunks)
                check(schedule)
                assert len(schedule.steps) == (nchunks + n - 2 if n > 1 else 0)
                assert sum(schedule.sent()) == nchunks * (n - 1)
    with pytest.raises(ScheduleError, match="nchunks must be a whole number >= 1, got 0"):
        ring.broadcast(4, 0, 0)


def test_a_rank_may_own_several_chunks():
    """Chunk c belongs to rank c // (nchunks / nranks): neighbours stay together, as in one buffer cut in nranks parts."""
    assert [owner(c, 3, 6) for c in range(6)] == [0, 0, 1, 1, 2, 2]
    pairs = [Transfer(0, 1, 0), Transfer(0, 1, 1), Transfer(1, 0, 2), Transfer(1, 0, 3)]
    check(Schedule("all_gather", "swap", 2, 4, [pairs]))
    with pytest.raises(ScheduleError, match="rank 0 sends chunk 2, but nothing is there yet"):
        check(Schedule("all_gather", "swap", 2, 4, [[Transfer(0, 1, 0), Transfer(0, 1, 2)]]))


def test_only_rooted_collectives_take_a_root():
    with pytest.raises(ScheduleError, match="broadcast needs root, got root=None"):
        check(replace(ring.broadcast(4), root=None))
    with pytest.raises(ScheduleError, match="all_reduce takes no root, got root=1"):
        check(replace(ring.all_reduce(4), root=1))


# seeded wrong schedules: check must name the place -----------------------------------------------------------------
def edit(schedule, step, index, **changes):
    steps = [list(s) for s in schedule.steps]
    steps[step][index] = steps[step][index]._replace(**changes)
    return replace(schedule, steps=steps)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (
            lambda s: replace(s, steps=s.steps[:-1]),
            r"rank 0 chunk 1 holds \[0 \+ 2 \+ 3\].*last written in step 2 of 5",
        ),
        (lambda s: replace(s, steps=s.steps[:2] + s.steps[3:]), r"should hold \[0 \+ 1 \+ 2 \+ 3\]"),
        (lambda s: edit(s, 4, 2, op="reduce"), r"rank 0 chunk 1 holds \[0 \+ 1 \+ 2 twice \+ 3 twice\]"),
        (lambda s: edit(s, 1, 0, op="copy"), "all_reduce by ring, 4 ranks: rank"),
        (lambda s: replace(s, collective="all_red"), "unknown collective 'all_red': expected one of all_reduce"),
        (lambda s: replace(s, steps=()), r"rank 0 chunk 0 holds \[0\].*never written"),
    ],
)
def test_check_names_the_place(wrong, says):
    with pytest.raises(ScheduleError, match=says):
        check(wrong(ring.all_reduce(4)))


def test_check_refuses_every_dropped_transfer():
    for key, build in CATALOGUE.items():
        good = build(nranks=5)
        for i, step in enumerate(good.steps):
            for j in range(len(step)):
                fewer = [t for k, t in enumerate(step) if k != j]
                steps = [*good.steps[:i], *([fewer] if fewer else []), *good.steps[i + 1 :]]
                with pytest.raises(ScheduleError, match=key[0] + "|nothing is there yet"):
                    check(replace(good, steps=steps))


def test_sending_what_is_not_there():
    with pytest.raises(ScheduleError, match=r"step 1, 0:1→2: rank 1 sends chunk 0, but nothing is there yet"):
        check(Schedule("broadcast", "mine", 3, 1, [[Transfer(1, 2, 0)]], root=0))
    with pytest.raises(ScheduleError, match=r"step 1, 0:0⇒1: rank 1 adds into chunk 0, but nothing is there yet"):
        check(Schedule("broadcast", "mine", 2, 1, [[Transfer(0, 1, 0, "reduce")]], root=0))


@pytest.mark.parametrize(("collective", "nchunks"), [("all_gather", 5), ("reduce_scatter", 3), ("all_to_all", 4)])
def test_chunks_must_fit_the_collective(collective, nchunks):
    with pytest.raises(ScheduleError, match=f"got nchunks={nchunks}"):
        check(Schedule(collective, "mine", 4, nchunks))


# numbers ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("numel", [0, 1, 6, 97])
def test_simulate_sums_uneven_buffers(n, numel):
    """numel need not be divisible by P: tensor_split gives chunks of two sizes, and the sums are the same."""
    data = np.random.default_rng(numel).integers(0, 1000, (n, numel))
    splits = [np.array_split(row, n) for row in data]
    width = max(len(c) for c in splits[0])
    padded = np.array([[np.pad(c, (0, width - len(c))) for c in row] for row in splits])
    *_, final = simulate(ring.all_reduce(n), padded)
    for rank in range(n):
        got = np.concatenate([final[rank, c, : len(splits[0][c])] for c in range(n)])
        assert (got == data.sum(axis=0)).all()


def test_simulate_yields_every_state_and_keeps_the_input():
    chunks = np.arange(9.0).reshape(3, 3)
    before = chunks.copy()
    states = list(simulate(ring.all_reduce(3), chunks))
    assert len(states) == 1 + 4
    assert (states[0] == before).all() and (chunks == before).all()
    assert (states[-1] == chunks.sum(axis=0)).all()
    with pytest.raises(ScheduleError, match=r"chunks must have shape \(3, 3, \.\.\.\), got \(2, 3\)"):
        list(simulate(ring.all_reduce(3), chunks[:2]))


def test_a_step_reads_what_the_step_before_left():
    swap = Schedule("all_gather", "swap", 2, 2, [[Transfer(0, 1, 0), Transfer(1, 0, 0)]])
    *_, after = simulate(swap, np.array([[1, 0], [2, 0]]))
    assert after[:, 0].tolist() == [2, 1]


# programs --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("key", CATALOGUE, ids="-".join)
def test_lower_keeps_every_transfer(key):
    schedule = CATALOGUE[key](nranks=6)
    programs = lower(schedule)
    for number, step in enumerate(schedule.steps):
        sends = {
            (r, m.peer, c, m.op)
            for r, p in enumerate(programs)
            for m in p[number]
            if m.kind == "send"
            for c in m.chunks
        }
        recvs = {
            (m.peer, r, c, m.op)
            for r, p in enumerate(programs)
            for m in p[number]
            if m.kind == "recv"
            for c in m.chunks
        }
        assert sends == recvs == {tuple(t) for t in step}


def test_lower_packs_a_step_between_two_ranks_into_one_message():
    two = Schedule("broadcast", "mine", 2, 3, [[Transfer(0, 1, 2), Transfer(0, 1, 0)]], root=0)
    sender, receiver = lower(two)
    assert sender == ((("send", 1, (0, 2), "copy"),),)
    assert receiver == ((("recv", 0, (0, 2), "copy"),),)


def test_lower_refuses_switches():
    with pytest.raises(ScheduleError, match="this schedule has 1 switches"):
        lower(Schedule(None, None, 2, 1, [[Transfer(0, 2, 0, "reduce")]], nswitches=1))
