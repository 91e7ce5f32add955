import numpy as np
import pytest

from helpers.exercises import ClaimError, claim, gap, refuses


def test_a_claim_prints_one_line(capsys):
    claim("steps = 2(P-1)", 6, 6)
    claim("bit-equal", np.array_equal([1], [1]))
    assert capsys.readouterr().out == "✓ steps = 2(P-1): 6\n✓ bit-equal\n"


@pytest.mark.parametrize(
    ("got", "want"), [(6, 7), (0.1 + 0.2, 0.3), ([1, 2], [1, 3]), ([1, 2], [1, 2, 3]), (False, True), ([1.0], 1.0)]
)
def test_a_false_claim_raises(got, want):
    with pytest.raises(ClaimError, match="mine: got"):
        claim("mine", got, want)


def test_arrays_and_tuples_are_claimed_element_by_element():
    claim("the same", [(1, 2), range(2)], [[1, 2], (0, 1)])
    claim("ones", np.ones((2, 1)), ((1,), (1,)))
    with pytest.raises(ClaimError, match="mine: got"):
        claim("mine", np.ones(3), 1.0)


def test_a_long_value_is_cut(capsys):
    claim("long", list(range(100)), list(range(100)))
    assert len(capsys.readouterr().out) < 80


def test_refuses_prints_the_error_that_a_lesson_wants(capsys):
    with refuses(ValueError) as caught:
        raise ValueError("rank 0 chunk 1")
    assert caught.message == "rank 0 chunk 1"
    assert capsys.readouterr().out == "ValueError: rank 0 chunk 1\n"


def test_refuses_wants_an_error():
    with pytest.raises(ClaimError, match="expected ValueError, but nothing was raised"), refuses(ValueError):
        pass
    with pytest.raises(KeyError), refuses(ValueError):
        raise KeyError("another")


@pytest.mark.parametrize(("guess", "says"), [(6, "exactly right"), (8, "1.33 times too high"), (3, "2 times too low")])
def test_gap(guess, says, capsys):
    gap("How many steps?", guess, 6)
    assert says in capsys.readouterr().out


@pytest.mark.parametrize("guess", [0, -1, "six"])
def test_gap_refuses(guess):
    with pytest.raises(ValueError, match="a prediction is a positive number"):
        gap("How many steps?", guess, 6)
