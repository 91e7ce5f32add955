"""The checkers of training-memory accept what is right and refuse every seeded wrong answer, with the case that shows it."""

import pytest
from solutions import refused, solutions

from helpers.exercises import training_memory as exercise


def right_stages(params, batch):
    return 2 * params + 2 * batch, 4 * params + 2 * batch, 3 * params + 2 * batch


def right_kept(rows, width, dropout):
    inside = rows * 4 * width
    return 4 * inside + (4 * inside + inside if dropout else 0)


def right_phase(params, kept, steps):
    held = params if steps == 1 else 3 * params
    return "backward" if held + kept > 5 * params else "step"


def test_right_answers_are_accepted():
    assert exercise.stages(right_stages).passed
    assert exercise.kept(right_kept).passed
    assert exercise.peak_phase(right_phase).passed


def test_the_solution_on_the_page_solves_the_exercise():
    assert exercise.peak_phase(solutions("training-memory")["my_phase"]).passed


@pytest.mark.parametrize(
    "wrong, said",
    [
        (lambda params, batch: (2 * params, 4 * params, 3 * params), "what does the script still hold"),
        (
            lambda params, batch: (2 * params + batch, 4 * params + batch, 3 * params + batch),
            "after backward: you said",
        ),
        (lambda params, batch: (params + 2 * batch, 4 * params + 2 * batch, 3 * params + 2 * batch), "it is"),
        (
            lambda params, batch: (2 * params + 2 * batch, 4 * params + 2 * batch, 2 * params + 2 * batch),
            "after zero_grad",
        ),
        (lambda params, batch: 4 * params, "expected three numbers"),
        (lambda params, batch: (None, 1, 1), "expected a number of bytes, got None"),
        (lambda params, batch: params // 0, "ZeroDivisionError"),
    ],
)
def test_wrong_stages_are_refused(wrong, said):
    refused(exercise.stages(wrong), said)


@pytest.mark.parametrize(
    "wrong, said",
    [
        (lambda rows, width, dropout: 16 * rows * width, "with dropout 0.1: you said"),
        (lambda rows, width, dropout: 16 * rows * width * (2 if dropout else 1), "how many bytes has a mask"),
        (lambda rows, width, dropout: 16 * rows * width * (3 if dropout else 1), "you said"),
        (lambda rows, width, dropout: 36 * rows * width, "with dropout 0: you said"),
        (lambda rows, width, dropout: right_kept(rows, width, dropout) + 4 * rows * width, "you said"),
        (lambda rows, width, dropout: True, "expected a number of bytes, got True"),
    ],
)
def test_wrong_counts_of_what_is_kept_are_refused(wrong, said):
    refused(exercise.kept(wrong), said)


@pytest.mark.parametrize(
    "wrong, said",
    [
        (lambda params, kept, steps: "backward", "you said 'backward', the peak is in 'step'"),
        (lambda params, kept, steps: "step", "you said 'step', the peak is in 'backward'"),
        (lambda params, kept, steps: right_phase(params, kept, 1), "2 steps"),
        (lambda params, kept, steps: right_phase(params, kept, 2), "1 step:"),
        (lambda params, kept, steps: "backward" if kept > params else "step", "times the parameters"),
        (lambda params, kept, steps: "forward", 'expected "backward" or "step"'),
    ],
)
def test_wrong_places_of_the_peak_are_refused(wrong, said):
    refused(exercise.peak_phase(wrong), said)
