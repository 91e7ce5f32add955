"""Closed forms: worked out exactly, and written as pages show them."""

from fractions import Fraction

import pytest

from helpers.collectives.algorithms.bruck import ones
from helpers.collectives.algorithms.halving import folded
from helpers.collectives.algorithms.trees import early
from helpers.collectives.forms import G, P, S, ceil, floor, form, log2, minimum


@pytest.mark.parametrize(
    ("made", "text", "shape", "value"),
    [
        (2 * (P - 1) / P, "2(P-1)/P", (4,), Fraction(3, 2)),
        (2 * ceil(log2(P)), "2⌈log2 P⌉", (5,), 6),
        (floor(log2(P - 1)), "⌊log2(P-1)⌋", (9,), 3),
        (P + ceil(S / 2) - 2, "P+⌈S/2⌉-2", (4, 5), 5),
        (2 - 2 / 2 ** floor(log2(P)), "2-2/2^⌊log2 P⌋", (13,), Fraction(7, 4)),
        (2 * (G - 1) + 2 * (P / G - 1), "2(G-1)+2(P/G-1)", (12, 1, 4), 10),
        ((G - 1) + (P / G - 1), "(G-1)+(P/G-1)", (12, 1, 4), 5),
        (minimum(3, floor((P + 1) / 2)), "min(3,⌊(P+1)/2⌋)", (4,), 2),
        (1 + 1 / P, "1+1/P", (4,), Fraction(5, 4)),
        (P - (S - 1), "P-(S-1)", (8, 3), 6),
        ((P - 1) * (S / G), "(P-1)(S/G)", (3, 6, 4), 3),
        (P / (2 * G), "P/(2G)", (8, 1, 2), 2),
        ((P + 1) ** 2, "(P+1)^2", (2,), 9),
        (P * 2, "P·2", (3,), 6),
        (2 * log2(P), "2(log2 P)", (8,), 6),
        (form(1), "1", (8,), 1),
        (ones(P) / P, "ones(P)/P", (8,), Fraction(12, 8)),
    ],
    ids=lambda value: str(value),
)
def test_forms_say_and_do_the_same(made, text, shape, value):
    assert (str(made), made(*shape)) == (text, value)


def test_what_has_a_name_only_is_counted():
    """Ones of 0..12 in binary; d = 1, 2, 4 with five ranks beyond the core of eight; one odd number of ones in 1 + 4k."""
    assert ones(P)(13) == sum(f"{i:b}".count("1") for i in range(13)) == 22
    assert folded(P)(13) == 1 + 2 + 4 and folded(P)(10) == 1 + 2 + 2
    assert [n for n in range(1, 40) if early(P)(n)] == [1, 13, 21, 25, 37]


@pytest.mark.parametrize("wrong", [1.5, "P", True])
def test_nothing_but_whole_numbers_goes_into_a_form(wrong):
    with pytest.raises(TypeError, match="made of P, S, G and whole numbers, got"):
        P + wrong
