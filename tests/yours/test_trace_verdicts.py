"""The verdict on traces: made steps of 100 µs, counted by hand, on both sides of each number that decides."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helpers.nccl import parse_kineto
from helpers.nccl.limited import limited_by
from helpers.nccl.predict import predict
from helpers.yours import is_my_number_good
from helpers.yours.places import gpu_place

sys.path.append(str(Path(__file__).parents[1] / "nccl" / "output"))

from made_traces import event, talk, text

WALL, TINY = 100, 1000  # microseconds of a step; numbers of 4 B in a small call
H100 = gpu_place(("NVIDIA H100 80GB HBM3",))


def busy(until):
    """Computes from the beginning; something on the CPU ends the step."""
    return event("gemm", 0, until), event("step", 0, WALL, "user_annotation", 11, 1)


def tiny(start, dur, number):
    return talk(start, dur, TINY, Seq=number)


def accused(*ranks):
    read = [parse_kineto(text(*events, rank=rank, world_size=len(ranks))) for rank, events in enumerate(ranks)]
    found = is_my_number_good(read if len(read) > 1 else read[0])
    return found, found.accused


LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
STEPS = {  # what one rank does, and what is accused first
    "all hidden": ((*busy(100), talk(10, 50)), None),
    "9 exposed": ((*busy(91), talk(91, 9)), None),
    "10 exposed": ((*busy(90), talk(90, 10)), "exposed communication"),
    "4 in the loader": ((*busy(96), event(LOADER, 96, 4, "user_annotation", 11, 1)), None),
    "5 in the loader": ((*busy(95), event(LOADER, 95, 5, "user_annotation", 11, 1)), "data loading"),
    "29 idle": (busy(71), None),
    "30 idle": (busy(70), "idle GPU"),
    "idle in the loader": ((*busy(60), event(LOADER, 60, 40, "user_annotation", 11, 1)), "data loading"),
    "8 small": ((*busy(84), *(tiny(84 + 2 * k, 2, k) for k in range(8))), "small collectives"),
    "7 small": ((*busy(84), tiny(84, 4, 0), *(tiny(86 + 2 * k, 2, k) for k in range(1, 7))), "exposed communication"),
    "8 small, 9 exposed": ((*busy(91), *(tiny(84 + 2 * k, 2, k) for k in range(8))), None),
}


@pytest.mark.parametrize("name", STEPS)
def test_what_one_rank_is_told_to_look_at_first(name):
    events, want = STEPS[name]
    found, names = accused(events)
    assert (names[0] if names else None) == want, str(found)


def test_the_reason_has_the_readers_own_times():
    found, _ = accused((*busy(90), talk(90, 10)))
    assert "for 10 us of 100 us" in found.causes[0].why.replace("µ", "u")
    assert "4 MiB" in found.causes[0].why and "all_reduce" in found.causes[0].why


@pytest.mark.parametrize(("wall", "ran", "accuses"), [(49, 2, False), (49, 3, True), (51, 2, True)])
def test_a_short_trace_of_next_to_nothing_accuses_nobody(wall, ran, accuses):
    """Milliseconds."""
    busy = event("gemm", 0, 1000 * ran), event("step", 0, 1000 * wall, "user_annotation", 11, 1)
    found = is_my_number_good(text(*busy))
    assert [(one.name, one.accuses) for one in found.causes] == [("idle GPU", accuses)]


@pytest.mark.parametrize(("late", "want"), [(4, False), (6, True)])
def test_a_rank_is_late_by_what_each_of_the_others_waits(late, want):
    """Rank 2 comes last; the two others wait `late` each, beside computation, and 5 of 100 are worth a word."""
    early, last = (*busy(100), talk(50, 5 + late)), (*busy(100), talk(50 + late, 5))
    found, names = accused(early, early, last)
    assert ("late rank" in names) == want, str(found)
    if want:
        assert found.causes[0].why.startswith("rank 2 came last in 1 of 1 collectives, for which the others waited 6 ")


def test_what_a_rank_waits_for_another_is_no_cost_of_small_collectives():
    """Rank 0's eight small calls show 40, of which it waits 32 for rank 1: 8 are left, below a tenth."""
    waits = (*busy(60), *(tiny(60 + 5 * k, 5, k) for k in range(8)))
    late = (*busy(100), *(tiny(64 + 5 * k, 1, k) for k in range(8)))
    _, names = accused(waits, late)
    assert names[0] == "late rank" and "small collectives" not in names
    assert accused(waits)[1][0] == "small collectives"


def test_a_size_is_limited_by_its_start_until_it_takes_twice_the_smallest():
    start = predict("all_reduce", 8, H100, 8).seconds
    for nbytes in (2**n for n in range(3, 34)):
        slow = predict("all_reduce", nbytes, H100, 8).seconds >= 2 * start
        assert limited_by("all_reduce", nbytes, H100, 8) == ("bandwidth" if slow else "latency")
    assert limited_by("all_to_all", 8, H100, 8) is None and limited_by("all_reduce", 8, H100, 1) is None
