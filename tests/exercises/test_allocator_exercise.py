"""The checkers of the chapter accept the solutions and refuse every seeded wrong answer, with the reason."""

import pytest
from solutions import refused, solutions

from helpers.exercises.allocator import ORDER, first_request, reorder, strand
from helpers.units import MIB


def block(nbytes):
    return max(512, -(-nbytes // 512) * 512)


def right(nbytes):
    size = block(nbytes)
    segment = 2 * MIB if size <= MIB else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
    rest = segment - size
    whole = rest <= MIB if size > MIB else rest < 512
    return (segment if whole else size), segment


STRANDED = "\n".join(
    [f"t{i} = 9 MiB; p{i} = 2 MiB; u{i} = 9 MiB" for i in range(5)]
    + [f"del t{i}, u{i}" for i in range(5)]
    + ["big = 20 MiB"]
)
REORDERED = "\n".join(sorted(ORDER.splitlines(), key=lambda line: ("ptdb".index(line[0]), line)))


def test_accepts_the_solutions():
    assert first_request(right).passed
    assert strand(STRANDED).passed
    assert reorder(REORDERED).passed


WRONG_FIRST = {
    "nothing is rounded": (lambda n: (n, right(n)[1]), "a multiple of 512 bytes"),
    "one kind of segment": (lambda n: (right(n)[0], 20 * MIB), "the small pool takes 2 MiB"),
    "the size itself": (lambda n: (right(n)[0], block(n)), "the segment has 2,097,152"),
    "no 20 MiB": (
        lambda n: (right(n)[0], max(2 * MIB, -(-n // (2 * MIB)) * 2 * MIB)),
        "between 1 and 10 MiB it is 20 MiB",
    ),
    "10 MiB still shares": (
        lambda n: (right(n)[0], 20 * MIB if MIB < n <= 10 * MIB else right(n)[1]),
        "For 10,485,760 bytes",
    ),
    "always cut": (lambda n: (block(n), right(n)[1]), "only more than 1 MiB is"),
    "one number": (lambda n: n, "expected two numbers"),
    "raises": (lambda n: n // 0, "ZeroDivisionError"),
}


WRONG_STRAND = {
    "ends well": ("a = 30 MiB; del a", "ends well, with 30 MiB"),
    "full, not stranded": ("a = 90 MiB; b = 20 MiB", "with 0 B reserved and free"),
    "little is stranded": (
        "a = 6 MiB; b = 2 MiB; c = 12 MiB; d = 70 MiB; del a, c; e = 20 MiB",
        "with 18 MiB reserved and free",
    ),
    "asks for more than is free": (STRANDED.replace("big = 20", "big = 95"), "more than the 90 MiB that are free"),
    "no program": ("allocate!", "TraceError"),
    "nothing": (None, "Expected a program"),
}


WRONG_ORDER = {
    "the same order": (ORDER, "still runs out of memory, with 34 MiB"),
    "another size": (REORDERED.replace("24 MiB", "8 MiB"), "'big = 8 MiB' is new"),
    "a line less": ("\n".join(REORDERED.splitlines()[1:]), "'p1 = 1.5 MiB' is missing"),
    "empties the cache": (ORDER.replace("big", "empty_cache()\nbig"), "'empty_cache()' is new"),
    "big first": (
        "big = 24 MiB\n" + REORDERED.replace("\nbig = 24 MiB", "").replace("big = 24 MiB\n", ""),
        "big is made when",
    ),
    "never alive at once": (
        "\n".join(f"t{i} = 8.5 MiB\np{i} = 1.5 MiB\ndel t{i}" for i in (1, 2, 3, 4)) + "\nbig = 24 MiB",
        "alive at once",
    ),
    "no text": (7, "Expected a program"),
}


REFUSED = [
    pytest.param(checker, *case, id=f"{checker.__name__}, {name}")
    for checker, cases in ((first_request, WRONG_FIRST), (strand, WRONG_STRAND), (reorder, WRONG_ORDER))
    for name, case in cases.items()
]


@pytest.mark.parametrize(("checker", "wrong", "says"), REFUSED)
def test_refuses_what_is_wrong(checker, wrong, says):
    refused(checker(wrong), says)


def test_the_solutions_on_the_page_are_accepted():
    found = solutions("allocator")
    assert first_request(found["my_first_request"]).passed
    assert strand(found["my_program"]).passed
    assert reorder(found["my_order"]).passed
