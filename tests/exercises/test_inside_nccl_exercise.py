"""The checkers accept the solutions and refuse every seeded wrong answer, with the smallest failing case."""

import math

import pytest
from solutions import refused

from helpers.exercises.inside_nccl import primitives_of, ring_lines, rounds, through_the_port, which_protocol


def test_the_lines_are_nccls_constants():
    """Microseconds of src/graph/tuning.cc; 12 channels of 30 GB/s: LL has its cap of 141, LL128 92 of 100, Simple all."""
    for nranks in (2, 3, 8):
        lines = ring_lines(nranks)
        for name, start, hop, rate in (("LL", 6.6, 0.6, 141), ("LL128", 14, 1.9, 331.2), ("Simple", 8.4, 3.4, 360)):
            assert lines[name] == pytest.approx((start * 1e-6, hop * 1e-6, rate * 1e9)), (nranks, name)


def estimated(nbytes, nranks, lines):
    steps = 2 * (nranks - 1)
    return min(
        lines, key=lambda name: lines[name][0] + steps * lines[name][1] + nbytes * steps / nranks / lines[name][2]
    )


def list_of(nranks):
    between = nranks - 2
    return ["send"] + ["recvReduceSend"] * between + ["recvReduceCopySend"] + ["recvCopySend"] * between + ["recv"]


def loops(nbytes, nranks, channels, chunk):
    return max(1, math.ceil(nbytes / (channels * nranks * chunk)))


RIGHT = [
    (which_protocol, estimated, "What NCCL's estimate says"),
    (rounds, loops, "The kernel's own number"),
    (primitives_of, list_of, "The kernel's own list"),
    (through_the_port, lambda nranks, nbytes: nbytes * (1 + 1 / nranks), "As many as the schedule counts"),
]


@pytest.mark.parametrize(("checker", "solution", "says"), RIGHT, ids=[one[0].__name__ for one in RIGHT])
def test_accepts_the_solution(checker, solution, says):
    answer = checker(solution)
    assert answer.passed, answer
    assert str(answer).startswith(f"Solved. {says}")


WRONG = {
    "the blank: always Simple": (which_protocol, lambda n, p, lines: "Simple", "A ring of 2 ranks, 1 KiB: Simple is"),
    "always LL": (which_protocol, lambda n, p, lines: "LL", "LL is estimated at"),
    "no latency": (which_protocol, lambda n, p, lines: max(lines, key=lambda k: lines[k][2]), "2 ranks, 1 KiB"),
    "a step, not all of them": (
        which_protocol,
        lambda n, p, lines: min(lines, key=lambda k: lines[k][0] + lines[k][1] + n / lines[k][2]),
        "Hint: how many steps",
    ),
    "no protocol": (which_protocol, lambda n, p, lines: None, "expected one of LL, LL128, Simple, got None"),
    "the blank: one round": (rounds, lambda *case: 1, "the kernel makes"),
    "without channels": (rounds, lambda n, p, c, k: max(1, math.ceil(n / (p * k))), "Hint: how many chunks"),
    "without ranks": (rounds, lambda n, p, c, k: max(1, math.ceil(n / (c * k))), "you say"),
    "rounded down": (rounds, lambda n, p, c, k: max(1, n // (c * p * k)), "you say"),
    "no rounds": (rounds, lambda *case: 0, "1 or more, got 0"),
    "half a round": (rounds, lambda *case: 0.5, "got 0.5"),
    "the blank: receive, add, send": (
        primitives_of,
        lambda n: ["recv", "reduce", "send"],
        "On 2 ranks: number 1 is send",
    ),
    "as many as steps": (primitives_of, lambda n: list_of(n)[:-1], "you list 2 primitives, a rank runs 3"),
    "no finished sum": (
        primitives_of,
        lambda n: ["recvReduceSend" if one == "recvReduceCopySend" else one for one in list_of(n)],
        "number 2 is recvReduceCopySend, you say 'recvReduceSend'",
    ),
    "sums for ever": (
        primitives_of,
        lambda n: [one.replace("recvCopySend", "recvReduceSend") for one in list_of(n)],
        "On 3",
    ),
    "the blank: a ring's": (through_the_port, lambda n, b: 2 * (n - 1) / n * b, "1 MiB on 2 GPUs: you say 1 MiB"),
    "once": (through_the_port, lambda n, b: b, "counted are 1.5 MiB"),
    "twice": (through_the_port, lambda n, b: 2 * b, "Hint: what does the switch read"),
    "both ways": (through_the_port, lambda n, b: 2 * b * (1 + 1 / n), "you say 3 MiB"),
    "a word": (through_the_port, lambda n, b: "all", "expected a number of bytes, got 'all'"),
    "raises": (through_the_port, lambda n, b: 1 // 0, "ZeroDivisionError"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses_wrong_answers(name):
    checker, wrong, says = WRONG[name]
    refused(checker(wrong), says)
