"""The checker accepts the solution and refuses every seeded wrong answer, with the smallest failing case."""

from dataclasses import replace

import pytest
from solutions import refused, solutions

from helpers.collectives import CATALOGUE, Schedule, Transfer, crossover
from helpers.exercises.ring import both_ways, crossing, other_way_round
from helpers.facts import LINKS

UPWARDS = CATALOGUE["reduce_scatter", "ring"]


def solution(n, start=1):
    return Schedule(
        "reduce_scatter",
        "ring",
        n,
        n,
        [[Transfer(r, (r - 1) % n, (r + start + t) % n, "reduce") for r in range(n)] for t in range(n - 1)],
    )


def test_accepts_the_solution():
    answer = other_way_round(solution)
    assert answer.passed
    assert str(answer).startswith("Solved. Proved for 1 to 16 ranks")


WRONG = {
    "the blank: still upwards": (UPWARDS, "At nranks=3: step 1 sends 2:0⇒1, from rank 0 to rank 1"),
    "wrong owner": (lambda n: solution(n, start=0), "At nranks=nranks=2"),
    "a step short": (lambda n: replace(solution(n), steps=solution(n).steps[:-1]), "should hold [0 + 1]"),
    "copies instead of adding": (
        lambda n: replace(solution(n), steps=[[t._replace(op="copy") for t in s] for s in solution(n).steps]),
        "rank 0 chunk 0 holds [1]",
    ),
    "a constant": (lambda n: solution(4), "At nranks=1: expected a reduce_scatter of 1 ranks"),
    "another collective": (lambda n: CATALOGUE["all_reduce", "ring"](n), "expected a reduce_scatter"),
    "no schedule": (lambda n: [], "expected a Schedule, got []"),
    "raises": (lambda n: 1 // 0, "ZeroDivisionError"),
    "out of range": (lambda n: Schedule("reduce_scatter", "x", n, n, [[Transfer(0, n, 0)]]), "ScheduleError"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses_wrong_answers(name):
    wrong, says = WRONG[name]
    answer = other_way_round(wrong)
    assert not answer.passed
    assert str(answer).startswith("Not yet. ")
    assert says.replace("nranks=nranks", "nranks") in str(answer)


def test_wasted_steps_are_seen():
    """A correct reduce-scatter with a useless round before it passes `check`, but is no ring of P-1 steps."""

    def slow(n):
        undone = [[Transfer(r, (r - 1) % n, r, "copy") for r in range(n)]] if n > 2 else []
        lonely = [[Transfer(0, n - 1, 0, "reduce")]] if n == 2 else []
        return replace(solution(n), steps=[*solution(n).steps, *undone, *lonely])

    assert "in 2 steps; a ring needs 1" in str(other_way_round(slow))


# two rings -----------------------------------------------------------------------------------------------------------
RING, BOTH = CATALOGUE["all_reduce", "ring"], CATALOGUE["all_reduce", "bidirectional"]


def one_after_the_other(n):
    """The halves of the bidirectional ring, each by itself."""
    s = BOTH(n)
    ways = [[[t for t in step if t.chunk % 2 == way] for step in s.steps] for way in (0, 1)]
    return replace(s, steps=ways[0] + ways[1])


def lopsided(n):
    """Three parts of the buffer one way round, one part the other."""
    mirrored = [-r % n for r in range(n)]
    one, other = RING(n).cut(3), RING(n)
    there = one.on(range(n), n, range(3 * n), 4 * n)
    return (there | other.on(mirrored, n, range(3 * n, 4 * n), 4 * n)).named("all_reduce", "lopsided")


def test_two_rings_are_accepted():
    assert both_ways(BOTH).passed
    assert "Proved for 2 to 16 ranks" in str(both_ways(BOTH))


@pytest.mark.parametrize(
    "wrong, says",
    [
        (
            RING,
            "At nranks=3: rank 0 sends 1.33 of the buffer to rank 1, and 0 comes back; shared fairly it is 0.667 each way",
        ),
        (lopsided, "At nranks=3: rank 0 sends 1 of the buffer to rank 1, and 0.333 comes back"),
        (one_after_the_other, "At nranks=2: it works, in 4 steps; two rings side by side need 2. Hint: `a + b`"),
        (CATALOGUE["all_reduce", "halving-doubling"], "At nranks=3: rank 0 sends 1 of the buffer to rank"),
        (CATALOGUE["all_reduce", "two-shot"], "At nranks=4: step 2 sends 2:0⇒2, and rank 2 is no neighbour of rank 0"),
        (
            lambda n: replace(BOTH(n), steps=BOTH(n).steps[:-1]),
            "At nranks=2: ScheduleError: all_reduce by bidirectional, 2 ranks: rank 0 chunk 2 holds [0]",
        ),
        (CATALOGUE["all_gather", "ring"], "At nranks=2: expected an all_reduce of 2 ranks, got 'all_gather ring"),
        (lambda n: None, "At nranks=2: expected a Schedule, got None"),
    ],
)
def test_what_is_not_two_rings_is_refused_with_the_place(wrong, says):
    refused(both_ways(wrong), says)


def test_the_crossing_is_found_within_a_tenth():
    truth = crossover(CATALOGUE["all_reduce", "binomial"](8), RING(8), LINKS["infiniband-ndr"].by("Simple"))
    assert crossing(truth).passed and crossing(f"{truth * 1.09 / 2**20:.3f} MiB").passed
    low, high = crossing(int(truth * 0.89)), crossing(int(truth * 1.11))
    assert not low.passed and "so the tree wins: look at larger sizes" in str(low)
    assert not high.passed and "so the ring wins: look at smaller sizes" in str(high)
    assert "a size looks like" in str(crossing("big"))


def test_the_solutions_on_the_page_solve_the_exercises():
    names = solutions("ring", Schedule=Schedule, Transfer=Transfer, CATALOGUE=CATALOGUE)
    assert other_way_round(names["my_reduce_scatter"]).passed
    assert both_ways(names["my_two_rings"]).passed
