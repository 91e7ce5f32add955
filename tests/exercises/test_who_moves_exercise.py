"""The checkers accept the solutions and refuse every seeded wrong answer, with the smallest failing case."""

import math

import pytest
from solutions import refused

from helpers.exercises.who_moves import product_beside, sender, without_sms


def free_of_sms(collective, policy, send_window, recv_window, across):
    if policy != "ZERO" or not recv_window:
        return False
    if across:
        return send_window and collective in ("all_gather", "all_to_all")
    return collective in ("all_gather", "all_to_all", "gather", "scatter")


def steps(messages, slots):
    found = []
    for message in range(messages):
        found += (["wait"] if message >= slots else []) + ["put", "signal"]
    return found


def ends(tiles, tile, sms, taken, until):
    """By hand: the latest end of any tile."""
    free, last = [0.0] * (sms - taken) + [until] * taken, 0.0
    for _ in range(tiles):
        k = min(range(sms), key=free.__getitem__)
        free[k] += tile
        last = max(last, free[k])
    return last


RIGHT = [
    (without_sms, free_of_sms, "As NCCL's source says, in all 192 cases"),
    (product_beside, ends, "Tile by tile the same"),
    (sender, steps, "No order of events goes wrong"),
]


@pytest.mark.parametrize(("checker", "solution", "says"), RIGHT, ids=[one[0].__name__ for one in RIGHT])
def test_accepts_the_solution(checker, solution, says):
    answer = checker(solution)
    assert answer.passed, answer
    assert str(answer).startswith(f"Solved. {says}")


WRONG = {
    "the blank: the policy is enough": (without_sms, lambda c, p, s, r, a: p == "ZERO", "all_reduce inside one NVLink"),
    "copies need no window": (
        without_sms,
        lambda c, p, s, r, a: p == "ZERO" and c in ("all_gather", "all_to_all", "gather", "scatter"),
        "neither buffer in a window: a kernel moves it",
    ),
    "both windows always": (
        without_sms,
        lambda *case: free_of_sms(*case) and case[2],
        "all_gather inside one NVLink domain, policy ZERO, the output in a window: no SM is needed, you say False",
    ),
    "efficiency is zero": (
        without_sms,
        lambda c, p, s, r, a: free_of_sms(c, "ZERO" if p == "EFFICIENCY" else p, s, r, a),
        "policy EFFICIENCY",
    ),
    "across as inside": (without_sms, lambda c, p, s, r, a: free_of_sms(c, p, s, r, False), "across nodes"),
    "not a truth": (without_sms, lambda *case: "yes", "expected True or False, got 'yes'"),
    "the blank: whole rounds of all": (
        product_beside,
        lambda n, t, sms, taken, until: math.ceil(n / sms) * t,
        "4 tiles of 1 ms on 2 SMs, 1 of them taken until 9 ms: you say 2 ms, tile by tile it is 4 ms",
    ),
    "the rest for ever": (
        product_beside,
        lambda n, t, sms, taken, until: math.ceil(n / max(1, sms - taken)) * t,
        "4 tiles of 1 ms on 4 SMs, 1 of them taken until 500 µs: you say 2 ms, tile by tile it is 1.5 ms",
    ),
    "the even share": (
        product_beside,
        lambda n, t, sms, taken, until: n * t / sms + until * taken / sms,
        "Hint: which SM is the first to be free",
    ),
    "no number": (product_beside, lambda *case: None, "expected seconds, got None"),
    "the blank: signal first": (
        sender,
        lambda m, s: ["signal", "put"] * m,
        "1 messages through 1 slots, you do signal, put",
    ),
    "never waits": (sender, lambda m, s: ["put", "signal"] * m, "it finds message 1"),
    "one signal for all": (sender, lambda m, s: ["put"] * m + ["signal"], "2 messages through 1 slots"),
    "waits for each": (sender, lambda m, s: ["put", "signal", "wait"] * m, "sound, but you wait after 1 puts"),
    "waits once too often": (sender, lambda m, s: [*steps(m, s), "wait"] + ["wait"] * m, "nobody goes on"),
    "a step that there is not": (sender, lambda m, s: ["read"], "'read' is no step of a sender"),
    "nothing": (sender, lambda m, s: [], "you do nothing: expected a put for each of 1 messages, got 0"),
    "raises": (sender, lambda m, s: 1 / 0, "ZeroDivisionError"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses_a_wrong_answer(name):
    checker, answer, says = WRONG[name]
    refused(checker(answer), says)
