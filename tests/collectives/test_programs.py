"""Each rank's own program: nothing is lost on the way from the schedule, and no program waits for ever."""

from __future__ import annotations

import random

import pytest

from helpers.collectives import CATALOGUE, Message, Schedule, ScheduleError, Transfer, lower, rendezvous

PLAYABLE = [key for key, build in CATALOGUE.items() if not build(nranks=2).nswitches]


def moves(programs, number, kind):
    ends = (lambda rank, m: (rank, m.peer)) if kind == "send" else (lambda rank, m: (m.peer, rank))
    return {
        (*ends(rank, m), c, m.op)
        for rank, p in enumerate(programs)
        for m in p[number]
        if m.kind == kind
        for c in m.chunks
    }


@pytest.mark.parametrize("key", PLAYABLE, ids="-".join)
def test_lower_keeps_every_transfer(key):
    schedule = CATALOGUE[key](nranks=6)
    programs = lower(schedule)
    for number, step in enumerate(schedule.steps):
        assert moves(programs, number, "send") == moves(programs, number, "recv") == {tuple(t) for t in step}


def test_lower_packs_a_step_between_two_ranks_into_one_message():
    two = Schedule("broadcast", "mine", 2, 3, [[Transfer(0, 1, 2), Transfer(0, 1, 0)]], root=0)
    sender, receiver = lower(two)
    assert sender == ((("send", 1, (0, 2), "copy"),),)
    assert receiver == ((("recv", 0, (0, 2), "copy"),),)


@pytest.mark.parametrize("key", [key for key in CATALOGUE if key not in PLAYABLE], ids="-".join)
def test_lower_refuses_switches(key):
    with pytest.raises(ScheduleError, match=r"only ranks run programs: this schedule has \d switches"):
        lower(CATALOGUE[key](nranks=4))


@pytest.mark.parametrize("key", PLAYABLE, ids="-".join)
def test_no_entry_waits_for_ever(key):
    for n in (*range(1, 18), 31, 32, 33, 64):
        rendezvous(lower(CATALOGUE[key](nranks=n)))


def program(*steps):
    return tuple(tuple(Message(kind, peer, (chunk,), "copy") for kind, peer, chunk in step) for step in steps)


def test_two_that_send_before_they_receive():
    """With a buffer to send into this would work; a rendezvous send waits."""
    with pytest.raises(
        ScheduleError,
        match="rank 0, step 1, waits to send to rank 1; rank 1, step 1, waits to send to rank 0: a circle",
    ):
        rendezvous([program([("send", 1, 0)], [("recv", 1, 0)]), program([("send", 0, 0)], [("recv", 0, 0)])])


@pytest.mark.parametrize("n", [2, 3, 4, 9])
def test_a_circle_of_receives(n):
    """Everybody receives from the left before it sends to the right: the ring of the chapter, one step cut in two."""
    ring = [program([("recv", (r - 1) % n, 0)], [("send", (r + 1) % n, 0)]) for r in range(n)]
    with pytest.raises(ScheduleError, match=r"rank 0, step 1, waits to receive from rank .*: a circle"):
        rendezvous(ring)
    ring[0] = ring[0][::-1]  # one that sends first is enough
    rendezvous(ring)


def test_a_circle_that_does_not_run_through_rank_0():
    waits = program([("recv", 1, 0)])
    circle = [
        program([("recv", 2, 0)], [("send", 0, 0)], [("send", 2, 0)]),
        program([("recv", 1, 0)], [("send", 1, 0)]),
    ]
    with pytest.raises(ScheduleError, match=r"^rank 1, step 1, .* rank 2; rank 2, step 1, .* rank 1: a circle"):
        rendezvous([waits, *circle])


def test_waiting_for_one_that_has_finished():
    with pytest.raises(ScheduleError, match="rank 0, step 1, waits to receive from rank 1: rank 1 has finished"):
        rendezvous([program([("recv", 1, 0)]), ()])


def test_messages_that_meet_must_fit():
    with pytest.raises(
        ScheduleError, match=r"rank 0 sends chunk 3 \(to be copied\) to rank 1, which there receives chunk 4"
    ):
        rendezvous([program([("send", 1, 3)]), program([("recv", 0, 4)])])


@pytest.mark.parametrize("key", PLAYABLE, ids="-".join)
def test_seeded_cycles_are_caught(key):
    """One rank does two of its steps in the wrong order: it must hang, or meet a message that does not fit; or it makes no difference."""
    rng, caught = random.Random(0), 0
    programs = lower(CATALOGUE[key](nranks=6))
    for _ in range(40):
        rank = rng.randrange(6)
        busy = [i for i, step in enumerate(programs[rank]) if step]
        if len(busy) < 2:
            continue
        i, j = sorted(rng.sample(busy, 2))
        steps = list(programs[rank])
        steps[i], steps[j] = steps[j], steps[i]
        try:
            rendezvous([*programs[:rank], tuple(steps), *programs[rank + 1 :]])
        except ScheduleError as error:
            caught += 1
            assert "waits to" in str(error) or "which there receives" in str(error)
    assert caught or key[1] in ("flat", "binomial"), (
        "steps of a root that do not depend on each other may go in any order"
    )
