"""The checker accepts the solution and refuses every seeded wrong answer, with the smallest failing case."""

from dataclasses import replace

import pytest

from helpers.collectives import CATALOGUE, Schedule, Transfer
from helpers.exercises.ring import other_way_round

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
