"""The checkers of execution-model accept what is right and refuse every seeded wrong answer, with the case that shows it."""

import re
from math import gcd

import pytest
from solutions import solutions

from helpers.exercises import execution as exercise
from helpers.memory.occupancy import occupancy


def right_steps(arms, lengths):
    return sum(lengths[arm] for arm in set(arms))


def right_sectors(stride, offset, nbytes):
    starts = [offset + lane * stride * nbytes for lane in range(32)]
    return len({sector for at in starts for sector in range(at // 32, (at + nbytes - 1) // 32 + 1)})


def right_padding(width):
    return (width + 1) % 2


def right_registers(gpu, threads, warps):
    return next((n for n in range(255, 0, -1) if occupancy(gpu, threads, n).warps >= warps), None)


@pytest.mark.parametrize(
    ("name", "answer", "praise"),
    [
        ("steps", right_steps, "all 28 branches"),
        ("sectors", right_sectors, "all 135 loads"),
        ("padding", right_padding, "every width"),
        ("most_registers", right_registers, "all 75 kernels"),
    ],
)
def test_right_answers_are_accepted(name, answer, praise):
    got = getattr(exercise, name)(answer)
    assert got.passed and praise in str(got), got


def test_the_solution_on_the_page_solves_the_exercise():
    assert exercise.sectors(solutions("execution-model")["my_sectors"]).passed


WRONG = [
    ("steps", lambda arms, lengths: sum(lengths), "it is 3"),
    ("steps", lambda arms, lengths: max(lengths[a] for a in arms), "it is 6"),
    ("steps", lambda arms, lengths: sum(lengths[a] for a in arms), "you said 96"),
    ("steps", lambda arms, lengths: 3.0, r"a whole number, got 3\.0"),
    ("steps", lambda arms, lengths: len(set(arms)) * lengths[0], "it is 7"),
    ("sectors", lambda s, o, n: 32, "it is 4"),
    ("sectors", lambda s, o, n: max(1, s) * n * 32 // 32, "it is"),
    ("sectors", lambda s, o, n: min(32, right_sectors(s, 0, n)), "4 bytes after the start"),
    ("sectors", lambda s, o, n: len({(o + i * s * n) // 32 for i in range(32)}), "30 bytes after the start"),
    ("sectors", lambda s, o, n: 1 // 0, "ZeroDivisionError"),
    ("padding", lambda width: right_padding(width) + 2, "so are 0"),
    ("padding", lambda width: 1, "still takes 2 passes"),
    ("padding", lambda width: 0, "still takes 2 passes"),
    ("padding", lambda width: 33 - width, "a padding is 0 or more|so are"),
    ("padding", lambda width: 32 - gcd(width, 32), "still takes|so are"),
    ("padding", lambda width: True, "got True"),
    ("most_registers", lambda gpu, threads, warps: 65536 // (32 * warps), "you said"),
    ("most_registers", lambda gpu, threads, warps: min(255, 65536 // (32 * warps)), "it is"),
    ("most_registers", lambda gpu, threads, warps: 32, "you said 32"),
    ("most_registers", lambda gpu, threads, warps: right_registers(gpu, threads, warps) or 0, "it is None"),
]


@pytest.mark.parametrize(("name", "wrong", "said"), WRONG)
def test_wrong_answers_are_refused(name, wrong, said):
    got = getattr(exercise, name)(wrong)
    assert not got.passed and re.search(said, str(got)), got
