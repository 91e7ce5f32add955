"""The checkers accept the solutions and refuse every seeded wrong answer, with the smallest failing case."""

import pytest
from solutions import refused

from helpers.exercises.choosing import an_override, what_changed, what_is_left
from helpers.nccl.overrides import ALGORITHMS

NAMES = {name.lower(): name for name in ALGORITHMS}


def left(text, collective):
    kept = set(ALGORITHMS)
    for entry in text.split(";"):
        whose, _, names = entry.rpartition(":")
        if whose not in ("", collective.replace("_", "")):
            continue
        listed = {NAMES[name.lower()] for name in names.lstrip("^").split(",")}
        kept = set(ALGORITHMS) - listed if names.startswith("^") else listed
    return kept


def changed(before, after):
    return {n: (way, after[n]) for n, way in before.items() if n in after and after[n] != way}


RIGHT = [
    (what_is_left, left, "What NCCL 2.24 and newer read"),
    (what_changed, changed, "All that changed"),
    (an_override, lambda: ("", "allreduce:^Simple"), "It helps at 8 MiB"),
    (an_override, lambda: ("allreduce:ring", "allreduce:LL,LL128"), "It helps at 8 MiB"),
]


@pytest.mark.parametrize(
    ("checker", "solution", "says"), RIGHT, ids=[f"{c.__name__}-{i}" for i, (c, *_) in enumerate(RIGHT)]
)
def test_accepts_the_solution(checker, solution, says):
    answer = checker(solution)
    assert answer.passed, answer
    assert str(answer).startswith(f"Solved. {says}")


WRONG = {
    "the blank: everything": (what_is_left, lambda text, c: ALGORITHMS, 'NCCL_ALGO="Ring" and all_reduce: you leave'),
    "no caret": (what_is_left, lambda text, c: left(text.replace("^", ""), c), "does it begin with a caret"),
    "whoever's entry": (what_is_left, lambda text, c: left(text.split(":")[-1], c), 'allreduce:tree" and all_gather'),
    "the first entry": (what_is_left, lambda text, c: left(text.split(";")[0], c), "a later one say otherwise"),
    "another name": (what_is_left, lambda text, c: ["Rings"], "'Rings' is none of Tree, Ring"),
    "a text": (what_is_left, lambda text, c: "Ring", "expected some of Tree, Ring"),
    "the blank: nothing changed": (what_changed, lambda a, b: {}, "at 8 MiB you say nothing, it is ('Ring/LL128'"),
    "turned round": (what_changed, lambda a, b: changed(b, a), "at 8 MiB you say ('Ring/Simple'"),
    "a size of one log": (
        what_changed,
        lambda a, b: {n: (a[n], b.get(n)) for n in a if a[n] != b.get(n)},
        "tell of it",
    ),
    "sizes alone": (what_changed, lambda a, b: sorted(changed(a, b)), "expected {size: (before, after)}"),
    "the blank: none": (an_override, lambda: ("", ""), "At 8 MiB we expect 81 µs with it, 81 µs without"),
    "for all": (an_override, lambda: ("", "^Simple"), "It changes broadcast, too"),
    "one protocol": (an_override, lambda: ("", "allreduce:LL128"), "At 1 MiB"),
    "the other one": (an_override, lambda: ("", "allreduce:LL"), "At 32 MiB"),
    "torch's name": (an_override, lambda: ("", "all_reduce:^Simple"), 'Unrecognized prefix token "all_reduce"'),
    "nothing left": (an_override, lambda: ("allreduce:nvls", "allreduce:LL"), "No algorithm/protocol available"),
    "one text": (an_override, lambda: "allreduce:ring", "Expected two texts"),
}


@pytest.mark.parametrize("case", WRONG)
def test_refuses_what_is_wrong(case):
    checker, wrong, says = WRONG[case]
    refused(checker(wrong), says)
