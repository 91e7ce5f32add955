"""Each rank's own program: nothing is lost on the way from the schedule, and no program waits for ever."""

from __future__ import annotations

import random

import pytest

from helpers.collectives import CATALOGUE, Message, Schedule, ScheduleError, Transfer, host, lower, rendezvous

SWITCHED = [key for key, build in CATALOGUE.items() if build(nranks=2).nswitches]


def moves(programs, number, *kinds):
    """(src place, dst place, chunk, op), once for every message that has the transfer in it."""
    found = []
    for rank, program in enumerate(programs):
        for m in program[number]:
            if m.kind in kinds:
                ends = m.places or ((rank, m.peer) if m.kind == "send" else (m.peer, rank))
                found += [(*ends, c, m.op) for c in m.chunks]
    return sorted(found)


@pytest.mark.parametrize("key", CATALOGUE, ids="-".join)
def test_lower_keeps_every_transfer_once_at_either_end(key):
    schedule = CATALOGUE[key](nranks=6)
    programs = lower(schedule)
    for number, step in enumerate(schedule.steps):
        for end in ("send", "recv"):
            assert moves(programs, number, end, "move") == sorted(map(tuple, step))


@pytest.mark.parametrize("n", [2, 3, 8, 12, 64])
@pytest.mark.parametrize("key", SWITCHED, ids="-".join)
def test_what_a_switch_does_is_done_where_its_slots_are_hosted(key, n):
    schedule = CATALOGUE[key](nranks=n)
    for rank, program in enumerate(lower(schedule)):
        for m in (m for step in program for m in step):
            src, dst = m.places
            mine, theirs = (src, dst) if m.kind == "send" else (dst, src)
            assert {host(schedule, mine, c) for c in m.chunks} == {rank}
            assert {host(schedule, theirs, c) for c in m.chunks} == {m.peer}
            assert (m.kind == "move") == (m.peer == rank)


def test_the_slots_of_switches_are_spread_over_the_ranks():
    nvls = CATALOGUE["all_reduce", "nvls"](nranks=4, slices=2)
    own = Schedule("all_reduce", "own", 2, 2, [[Transfer(0, 2, 0, "reduce")]], nswitches=2)
    assert [host(own, 2 + r, c) for r in range(2) for c in range(2)] == [0, 0, 1, 1], "one place a rank: its registers"
    assert [host(nvls, 4, c) for c in range(8)] == [0, 0, 1, 1, 2, 2, 3, 3], "rank r reads its own chunk's sum next"
    one_shot = CATALOGUE["all_reduce", "one-shot"](nranks=4)
    assert [host(one_shot, 4 + r, 0) for r in range(4)] == [0, 1, 2, 3], "registers of rank r"
    sharp = CATALOGUE["all_reduce", "sharp"](nranks=64)
    assert sharp.nswitches == 9 and [host(sharp, 64 + k, 0) for k in range(9)] == list(range(9))
    assert [host(nvls, r, 5) for r in range(4)] == [0, 1, 2, 3], "a rank's slots are its own"


def test_lower_packs_a_step_between_two_ranks_into_one_message():
    two = Schedule("broadcast", "mine", 2, 3, [[Transfer(0, 1, 2), Transfer(0, 1, 0)]], root=0)
    sender, receiver = lower(two)
    assert sender == ((Message("send", 1, (0, 2), "copy"),),)
    assert receiver == ((Message("recv", 0, (0, 2), "copy"),),)


@pytest.mark.parametrize("key", CATALOGUE, ids="-".join)
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


def test_what_a_rank_moves_within_itself_waits_for_nobody():
    rendezvous([((Message("move", 0, (0,), "copy", (0, 1)),), (Message("move", 0, (0,), "copy", (1, 0)),))])


def test_a_message_for_another_switch_does_not_fit():
    with pytest.raises(ScheduleError, match=r"rank 0 sends chunk 0 .* to rank 1, which there receives chunk 0"):
        rendezvous(
            [
                ((Message("send", 1, (0,), "reduce", (0, 2)),),),
                ((Message("recv", 0, (0,), "reduce", (0, 3)),),),
            ]
        )


@pytest.mark.parametrize("key", CATALOGUE, ids="-".join)
def test_seeded_cycles_are_caught(key):
    """One rank does two of its steps in the wrong order: it must hang, or meet a message that does not fit; or it makes no difference."""
    rng, caught, tried = random.Random(0), 0, 0
    programs = lower(CATALOGUE[key](nranks=6))
    for _ in range(40):
        rank = rng.randrange(6)
        busy = [i for i, step in enumerate(programs[rank]) if any(m.kind != "move" for m in step)]
        if len(busy) < 2:
            continue
        tried += 1
        i, j = sorted(rng.sample(busy, 2))
        steps = list(programs[rank])
        steps[i], steps[j] = steps[j], steps[i]
        try:
            rendezvous([*programs[:rank], tuple(steps), *programs[rank + 1 :]])
        except ScheduleError as error:
            caught += 1
            assert "waits to" in str(error) or "which there receives" in str(error)
    assert tried, "nothing was tried"
    assert caught or key[1] in ("flat", "binomial"), (
        "steps of a root that do not depend on each other may go in any order"
    )
