"""The checkers accept the solutions and refuse every seeded wrong answer, with the smallest failing case."""

import math
from dataclasses import replace

import pytest

from helpers.collectives import CATALOGUE, Schedule, Transfer
from helpers.exercises.trees import best_chunks, binomial_broadcast, inner_in_both

BINOMIAL = CATALOGUE["broadcast", "binomial"]


def far_first(n, root):
    """Another right answer than the catalogue's: the longest jump first."""
    at = [(root + i) % n for i in range(n)]
    jumps = [1 << k for k in reversed(range((n - 1).bit_length()))]
    steps = [[Transfer(at[i], at[i + d], 0) for i in range(0, n - d, 2 * d)] for d in jumps]
    return Schedule("broadcast", "mine", n, 1, steps, root)


@pytest.mark.parametrize("solution", [BINOMIAL, far_first])
def test_accepts_any_broadcast_by_doubling(solution):
    answer = binomial_broadcast(solution)
    assert answer.passed, answer
    assert str(answer).startswith("Solved. Proved for 1 to 16 ranks and every root")


def everybody_at_once(n, root):
    step = [Transfer(root, r, 0) for r in range(n) if r != root]
    return Schedule("broadcast", "mine", n, 1, [step] if step else [], root)


WRONG_BROADCASTS = {
    "the blank: the root sends to one after the other": (
        CATALOGUE["broadcast", "flat"],
        "At nranks=4, root=0: everybody has it, but after 3 steps; doubling takes 2.",
    ),
    "the published drawing: two partners at once": (
        everybody_at_once,
        "At nranks=3, root=0: in step 1 rank 0 sends to 2 partners",
    ),
    "two senders to one rank": (
        lambda n, root: (
            replace(
                BINOMIAL(n, root).cut(2),
                collective="broadcast",
                algorithm="x",
                root=root,
                steps=[[(0, 2, 0), (1, 2, 1)]],
            )
            if n == 3
            else BINOMIAL(n, root)
        ),
        "in step 1 rank 2 receives from 2 partners",
    ),
    "always from rank 0": (lambda n, root: BINOMIAL(n, 0), "At nranks=2, root=1: expected a broadcast of 2 ranks from"),
    "a round short": (
        lambda n, root: replace(BINOMIAL(n, root), steps=BINOMIAL(n, root).steps[:-1]),
        "At nranks=2, root=0: ScheduleError",
    ),
    "for powers of two only": (
        lambda n, root: BINOMIAL(n, root) if n & (n - 1) == 0 else BINOMIAL(1 << (n.bit_length() - 1), 0),
        "At nranks=3, root=0: expected a broadcast of 3 ranks",
    ),
    "forgets to turn the root": (
        lambda n, root: replace(BINOMIAL(n, 0), root=root),
        "At nranks=2, root=1: ScheduleError",
    ),
    "a reduce": (lambda n, root: CATALOGUE["reduce", "binomial"](n, root), "At nranks=1, root=0: expected a broadcast"),
    "no schedule": (lambda n, root: None, "expected a Schedule, got None"),
    "raises": (lambda n, root: 1 // 0, "ZeroDivisionError"),
}


@pytest.mark.parametrize("name", WRONG_BROADCASTS)
def test_refuses_wrong_broadcasts(name):
    wrong, says = WRONG_BROADCASTS[name]
    _refused(binomial_broadcast(wrong), says)


def square_root(nranks, nbytes, link):
    """Steps 2S + c, each α + Nβ/S: cheapest where 2S² = c Nβ/α."""
    c = math.floor(math.log2(nranks)) + math.floor(math.log2(nranks - 1)) - 2
    return max(1, round(math.sqrt(c * nbytes * link.beta / link.alpha / 2)))


def test_accepts_the_square_root():
    answer = best_chunks(square_root)
    assert answer.passed, answer


WRONG_CHUNKS = {
    "the blank: one chunk": (lambda n, b, link: 1, "At 8 ranks, 64 MiB, NVLink 4 (H100), Simple: S = 1 takes"),
    "eight, always": (lambda n, b, link: 8, "At 3 ranks, 1 KiB, NVLink 4 (H100), Simple: S = 8 takes"),
    "without the root": (
        lambda n, b, link: max(1, round(2 * b * link.beta / link.alpha)),
        "Hint: write the price as a function of S",
    ),
    "twice too many": (lambda n, b, link: 2 * square_root(n, b, link), "At 3 ranks, 1 KiB"),
    "no latency": (lambda n, b, link: 511, "At 3 ranks, 1 KiB"),
    "half a chunk": (lambda n, b, link: 0.5, "expected a whole number of chunks, 1 or more, got 0.5"),
    "none": (lambda n, b, link: 0, "expected a whole number of chunks, 1 or more, got 0"),
    "yes": (lambda n, b, link: True, "expected a whole number of chunks, 1 or more, got True"),
}


@pytest.mark.parametrize("name", WRONG_CHUNKS)
def test_refuses_wrong_numbers_of_chunks(name):
    wrong, says = WRONG_CHUNKS[name]
    _refused(best_chunks(wrong), says)


def test_accepts_rank_0_for_odd_p():
    answer = inner_in_both(lambda n: [0] if n % 2 and n > 1 else [])
    assert answer.passed, answer


WRONG_RANKS = {
    "the blank: nobody, ever": (lambda n: [], "At nranks=3: you say [], but it is [0]"),
    "rank 0, always": (lambda n: [0], "At nranks=1: you say [0], but it is []"),
    "the last rank": (lambda n: [n - 1] if n % 2 and n > 1 else [], "At nranks=3: you say [2], but it is [0]"),
    "not 1": (lambda n: [0] if n % 2 else [], "At nranks=1: you say [0], but it is []"),
    "where P leaves 3": (lambda n: [0] if n % 4 == 3 else [], "At nranks=5: you say [], but it is [0]"),
    "no list": (lambda n: 0, "TypeError"),
}


@pytest.mark.parametrize("name", WRONG_RANKS)
def test_refuses_wrong_ranks(name):
    wrong, says = WRONG_RANKS[name]
    _refused(inner_in_both(wrong), says)


def _refused(answer, says):
    assert not answer.passed
    assert str(answer).startswith("Not yet. ")
    assert says in str(answer)
