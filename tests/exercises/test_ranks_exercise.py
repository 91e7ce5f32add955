"""The checker of the store's barrier accepts what is one, and refuses what only looks like one, with the case that shows it."""

import threading
import time

import pytest
from solutions import solutions

from helpers.exercises.ranks import store_barrier


def by_key(store, rank, nranks):
    arrived = store.add("arrived", 1)
    number = (arrived - 1) // nranks
    if arrived % nranks == 0:
        store.set(f"open {number}", "")
    store.wait([f"open {number}"])


def by_asking(store, rank, nranks):
    number = (store.add("arrived", 1) - 1) // nranks
    while store.add("arrived", 0) < (number + 1) * nranks:
        time.sleep(0.01)


def by_name(store, rank, nranks):
    """Every rank sets a key of its own and waits for everybody's: no counting at all."""
    number = store.add(f"calls of {rank}", 1)
    store.set(f"{rank} is in {number}", b"1")
    store.wait([f"{other} is in {number}" for other in range(nranks)])


def through_rank_0(store, rank, nranks):
    number = store.add(f"calls of {rank}", 1)
    if rank == 0:
        while not store.check([f"{other} in {number}" for other in range(1, nranks)]):
            pass
        store.set(f"go {number}", "")
    else:
        store.set(f"{rank} in {number}", "")
        store.get(f"go {number}")


@pytest.mark.parametrize("answer", [by_key, by_asking, by_name, through_rank_0], ids=lambda f: f.__name__)
def test_accepts_what_is_a_barrier(answer):
    assert str(store_barrier(answer)).startswith("Solved. A barrier for 1 to 4 ranks")


def once_only(store, rank, nranks):
    store.add("arrived", 1)
    while store.add("arrived", 0) < nranks:
        time.sleep(0.01)


def no_barrier(store, rank, nranks):
    store.add("arrived", 1)


def waits_for_rank_0_only(store, rank, nranks):
    number = store.add(f"calls of {rank}", 1)
    store.set(f"{rank} is in {number}", "")
    store.wait([f"0 is in {number}"])


def one_short(store, rank, nranks):
    number = (store.add("arrived", 1) - 1) // nranks
    while store.add("arrived", 0) < (number + 1) * nranks - 1:
        pass


def one_too_many(store, rank, nranks):
    store.add("arrived", 1)
    while store.add("arrived", 0) <= nranks:
        pass


def opens_for_four(store, rank, nranks):
    arrived = store.add("arrived", 1)
    if arrived % 4 == 0:
        store.set(f"open {(arrived - 1) // 4}", "")
    store.wait([f"open {(arrived - 1) // 4}"])


def last_sets_it_back(store, rank, nranks):
    """The classic race: who is quick counts up again before the slow have seen the zero."""
    if store.add("arrived", 1) == nranks:
        store.set("arrived", "0")
    while int(store.get("arrived")) > 0:
        pass


def raises(store, rank, nranks):
    return {}["no"]


def a_string(store, rank, nranks):
    store.set("open", "")
    store.wait("open")


def other_method(store, rank, nranks):
    store.compare_set("a", "", "b")


def never_asks(store, rank, nranks):
    while True:
        pass


WRONG = {
    once_only: "in round 2 rank 1 passes, and rank 0 has not arrived. Hint:",
    no_barrier: "At 2 ranks, rank 0 always late: in round 1 rank 1 passes, and rank 0 has not arrived.",
    waits_for_rank_0_only: "At 2 ranks, rank 1 always late: in round 1 rank 0 passes",
    one_short: "rank 0 has not arrived",
    one_too_many: "At 1 rank, rank 0 always late: in round 1 all ranks have arrived, and rank 0 still asks the store again",
    opens_for_four: "and rank 0 still waits for the key 'open 0', which nobody sets.",
    last_sets_it_back: "have arrived, and rank",
    raises: "rank 0 raises KeyError: 'no'",
    a_string: "TypeError: wait takes a list of keys, got 'open'",
    other_method: "'Store' object has no attribute 'compare_set'",
    never_asks: "rank 0 computes for 2 s and never comes back to the store",
}


@pytest.mark.parametrize("answer", WRONG, ids=lambda f: f.__name__)
def test_refuses_what_is_none(answer):
    found = store_barrier(answer)
    assert not found.passed and str(found).startswith("Not yet. At ")
    assert WRONG[answer] in str(found)


@pytest.mark.parametrize("answer", [opens_for_four, never_asks, by_asking], ids=lambda f: f.__name__)
def test_no_thread_stays_behind(answer):
    store_barrier(answer)
    end = time.monotonic() + 10
    while (left := [t.name for t in threading.enumerate() if t.name.startswith("rank-")]) and time.monotonic() < end:
        time.sleep(0.01)
    assert left == []


def test_sleep_is_itself_again():
    before = time.sleep
    store_barrier(once_only)
    assert time.sleep is before


def test_the_same_answer_gets_the_same_words():
    assert len({str(store_barrier(last_sets_it_back)) for _ in range(20)}) == 1


def test_the_solution_on_the_page_solves_it():
    assert store_barrier(solutions("ranks")["my_barrier"]).passed
