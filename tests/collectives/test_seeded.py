"""`check` refuses wrong schedules and names the place: whatever is dropped, added twice, given to the wrong owner or root."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.collectives import CATALOGUE, Schedule, ScheduleError, Transfer, check
from helpers.collectives.algorithms import ring


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


def harmless(key, number, steps, t):
    """NVLS in one slice hands a rank its own chunk at the very end. And a place of a schedule keeps what it held, unlike a real switch."""
    into_switch = key == ("all_reduce", "nvls") and t.op == "copy" and t.src == t.chunk
    return into_switch or (key[1] == "nvls" and key[0] != "reduce_scatter" and number == steps and t.dst == t.chunk)


@pytest.mark.parametrize("key", CATALOGUE, ids="-".join)
def test_check_refuses_every_dropped_transfer(key):
    good = CATALOGUE[key](nranks=5, **({"slices": 1} if key[1] == "nvls" else {}))
    for i, step in enumerate(good.steps):
        for j, t in enumerate(step):
            if harmless(key, i + 1, len(good.steps), t):
                continue
            fewer = [t for k, t in enumerate(step) if k != j]
            steps = [*good.steps[:i], *([fewer] if fewer else []), *good.steps[i + 1 :]]
            with pytest.raises(
                ScheduleError, match=rf"{key[0]} by {key[1]}, 5 ranks: rank \d chunk \d|nothing is there yet"
            ):
                check(replace(good, steps=steps))


@pytest.mark.parametrize("key", CATALOGUE, ids="-".join)
def test_check_refuses_every_dropped_step(key):
    good = CATALOGUE[key](nranks=6)
    for i, step in enumerate(good.steps):
        if all(harmless(key, i + 1, len(good.steps), t) for t in step):
            continue
        with pytest.raises(
            ScheduleError, match=rf"{key[0]} by {key[1]}, 6 ranks: rank \d chunk \d+|nothing is there yet"
        ):
            check(replace(good, steps=good.steps[:i] + good.steps[i + 1 :]))


@pytest.mark.parametrize("key", [key for key in CATALOGUE if "reduce" in key[0]], ids="-".join)
def test_check_refuses_a_double_add(key):
    """The last transfer that adds is played a second time in a step of its own, at once: its sender's share is in there twice."""
    good = CATALOGUE[key](nranks=6)
    i, t = next((i, t) for i, step in reversed([*enumerate(good.steps)]) for t in step if t.op == "reduce")
    with pytest.raises(ScheduleError, match=rf"rank \d chunk {t.chunk} holds .*twice"):
        check(replace(good, steps=(*good.steps[: i + 1], [t], *good.steps[i + 1 :])))


@pytest.mark.parametrize(
    "key", [k for k in CATALOGUE if k[0] in ("broadcast", "reduce", "scatter", "gather")], ids="-".join
)
def test_check_refuses_another_root(key):
    with pytest.raises(ScheduleError, match=r"nothing is there yet|rank 1 chunk 0 holds"):
        check(replace(CATALOGUE[key](nranks=6), root=1))


@pytest.mark.parametrize("key", [k for k in CATALOGUE if k[0] in ("reduce_scatter", "all_gather")], ids="-".join)
def test_check_refuses_swapped_owners(key):
    """Ranks 1 and 2 play each other's part: the right sums, or copies, for the wrong owner."""
    good = CATALOGUE[key](nranks=6)
    swapped = good.on([0, 2, 1, 3, 4, 5], 6).named(*key)
    with pytest.raises(
        ScheduleError, match=r"rank 1 chunk \d+ holds|rank \d sends chunk \d+, but nothing is there yet"
    ):
        check(swapped)


def test_what_is_twice_where_nobody_asks_for_it_does_no_harm():
    extra = Transfer(1, 2, 0, "reduce")
    odd = Schedule(
        "reduce", "mine", 3, 1, [[Transfer(1, 0, 0, "reduce")], [Transfer(2, 0, 0, "reduce")], [extra], [extra]], 0
    )
    check(odd)


@pytest.mark.parametrize("times", [2, 3, 4, 7, 8, 1000])
def test_a_share_is_counted_however_often_it_is_added(times):
    again = [[Transfer(0, 1, 0, "reduce")]] * times
    said = "0 twice" if times == 2 else f"0 {times} times"
    with pytest.raises(ScheduleError, match=rf"rank 0 chunk 0 holds \[{said} \+ 1\], should hold \[0 \+ 1\]"):
        check(Schedule("all_reduce", "mine", 2, 1, [*again, [Transfer(1, 0, 0)]]))


def test_sending_what_is_not_there():
    with pytest.raises(ScheduleError, match=r"step 1, 0:1→2: rank 1 sends chunk 0, but nothing is there yet"):
        check(Schedule("broadcast", "mine", 3, 1, [[Transfer(1, 2, 0)]], root=0))
    with pytest.raises(ScheduleError, match=r"step 1, 0:0⇒1: rank 1 adds into chunk 0, but nothing is there yet"):
        check(Schedule("broadcast", "mine", 2, 1, [[Transfer(0, 1, 0, "reduce")]], root=0))


@pytest.mark.parametrize(("collective", "nchunks"), [("all_gather", 5), ("reduce_scatter", 3), ("all_to_all", 4)])
def test_chunks_must_fit_the_collective(collective, nchunks):
    with pytest.raises(ScheduleError, match=f"got nchunks={nchunks}"):
        check(Schedule(collective, "mine", 4, nchunks))
