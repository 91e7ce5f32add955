"""The checkers accept the solutions and refuse every seeded wrong answer, with the smallest failing case."""

from dataclasses import replace
from math import log2

import pytest

from helpers.collectives import CATALOGUE, Transfer
from helpers.exercises.halving import near_first, no_fold, overtakes, the_way
from helpers.facts import LINKS

HALVING = CATALOGUE["reduce_scatter", "recursive-halving"]
FOLDED = CATALOGUE["all_reduce", "halving-doubling"]


def reversed_bits(n):
    bits = n.bit_length() - 1
    return [int(f"{r:0{bits}b}"[::-1], 2) for r in range(n)] if bits else [0]


def near(n, chunks=True):
    names = reversed_bits(n)
    return HALVING(nranks=n).on(names, n, chunks=names if chunks else None).named("reduce_scatter", "near-first")


def unfolded(n, kind="bruck"):
    halves = (CATALOGUE[name, kind](nranks=n) for name in ("reduce_scatter", "all_gather"))
    return sum_of(*halves).named("all_reduce", "no-fold")


def sum_of(first, second):
    return first + second


def size(n, link):
    return log2(n) * link.alpha / link.beta / (log2(n) - 2 * (n - 1) / n)


def way(src, dst, n):
    visited, left, d = [src], (dst - src) % n, 1
    while left:
        if left & d:
            visited.append((visited[-1] + d) % n)
            left -= d
        d *= 2
    return visited


@pytest.mark.parametrize(
    ("exercise", "solution", "praise"),
    [
        (near_first, near, "Proved for 1 to 64 ranks"),
        (no_fold, unfolded, "Proved for 1 to 33 ranks"),
        (no_fold, lambda n: unfolded(n, "pat"), "Proved for 1 to 33 ranks"),
        (overtakes, size, f"for 4 to 64 ranks on {len(LINKS)} links"),
        (the_way, way, "Right for every block among 1 to 13 ranks"),
    ],
)
def test_accepts_the_solution(exercise, solution, praise):
    answer = exercise(solution)
    assert answer.passed, answer
    assert praise in answer.message


def a_step_short(n):
    return replace(near(n), steps=near(n).steps[:-1])


def copies(n):
    return replace(near(n), steps=[[t._replace(op="copy") for t in step] for step in near(n).steps])


def idles(n):
    """The right moves, and then one that nobody needs."""
    extra = [[Transfer(0, n - 1, 0)]] if n > 1 else []
    return replace(near(n), steps=[*near(n).steps, *extra])


WRONG = {
    "the blank: far partners first": (
        near_first,
        HALVING,
        "At nranks=4: step 1 sends 2:0⇒2; there rank 0 exchanges with rank 1",
    ),
    "near first, other chunks": (
        near_first,
        lambda n: near(n, chunks=False),
        "At nranks=4: ScheduleError: reduce_scatter by near-first, 4 ranks: rank 1 chunk 1 holds",
    ),
    "near first, a ring": (
        near_first,
        CATALOGUE["reduce_scatter", "ring"],
        "At nranks=4: step 1 sends 0:1⇒2; there rank 1 exchanges with rank 0",
    ),
    "near first, a step short": (
        near_first,
        a_step_short,
        "At nranks=2: ScheduleError: reduce_scatter by near-first, 2 ranks",
    ),
    "near first, copies": (near_first, copies, "ScheduleError"),
    "near first, another collective": (
        near_first,
        FOLDED,
        "At nranks=1: expected reduce_scatter of 1 ranks and no switch",
    ),
    "near first, unnamed": (
        near_first,
        lambda n: near(n).on(range(n), n),
        "What is composed has no collective until .named",
    ),
    "near first, one constant": (near_first, lambda n: near(4), "At nranks=1: expected reduce_scatter of 1 ranks"),
    "near first, no schedule": (near_first, lambda n: None, "expected a Schedule, got None"),
    "near first, idles": (near_first, idles, "At nranks=2: it works, but in 2 steps where 1 would do"),
    "the blank: the fold": (
        no_fold,
        FOLDED,
        "At nranks=3: it works, but some rank moves 4 chunks of 2: 2 of the buffer, where 1.33",
    ),
    "ring": (no_fold, CATALOGUE["all_reduce", "ring"], "At nranks=4: it works, but in 6 steps where 4 would do"),
    "binomial": (
        no_fold,
        CATALOGUE["all_reduce", "binomial"],
        "At nranks=3: it works, but some rank moves 2 chunks of 1: 2 of the buffer, where 1.33 would do",
    ),
    "a switch": (
        no_fold,
        CATALOGUE["all_reduce", "nvls"],
        "At nranks=1: expected all_reduce of 1 ranks and no switch, got 'all_reduce nvls nranks=1 nchunks=8 root=- nswitches=1'.",
    ),
    "gather only": (no_fold, CATALOGUE["all_gather", "bruck"], "got 'all_gather bruck nranks=1"),
    "the wrong way round": (
        no_fold,
        lambda n: sum_of(*(CATALOGUE[c, "bruck"](nranks=n) for c in ("all_gather", "reduce_scatter"))).named(
            "all_reduce", "x"
        ),
        "ScheduleError",
    ),
    "the blank: alpha over beta": (
        overtakes,
        lambda n, link: link.alpha / link.beta,
        "At nranks=4 on nvlink-3: 1,213,342 bytes",
    ),
    "large P only": (
        overtakes,
        lambda n, link: log2(n) * link.alpha / link.beta / (log2(n) - 2),
        "At nranks=4 on nvlink-3",
    ),
    "off by 1 %": (overtakes, lambda n, link: 1.01 * size(n, link), "the prices meet at"),
    "text": (overtakes, lambda n, link: "1 MiB", "expected a number of bytes, got '1 MiB'"),
    "nan": (overtakes, lambda n, link: float("nan"), "nan bytes, the prices meet at"),
    "the blank: straight": (
        the_way,
        lambda s, d, n: [s, d] if s != d else [s],
        "At nranks=4, from 0 to 3: [0, 3], the block visits [0, 1, 3]",
    ),
    "long hops first": (
        the_way,
        lambda s, d, n: [s, *[(d + s - r) % n for r in way(s, d, n)[-2::-1]]],
        "At nranks=4, from 0 to 3: [0, 2, 3], the block visits [0, 1, 3]",
    ),
    "does not wrap": (the_way, lambda s, d, n: way(s, d, 16), "At nranks=2, from 1 to 0"),
    "raises": (the_way, lambda s, d, n: 1 // 0, "ZeroDivisionError"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses_wrong_answers(name):
    exercise, wrong, says = WRONG[name]
    answer = exercise(wrong)
    assert not answer.passed
    assert str(answer).startswith("Not yet. ") and says in str(answer), str(answer)
