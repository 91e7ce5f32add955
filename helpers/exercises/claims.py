"""The two small statements of a lab: a claim that must hold, and an error that must come. Chapters: all labs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace


class ClaimError(AssertionError):
    """A claim of the course that does not hold."""


def claim(text: str, got: object, want: object = True) -> None:
    """Prints one stable line and raises ClaimError unless got equals want (numbers exactly, arrays element by element)."""
    if not _equal(got, want):
        raise ClaimError(f"{text}: got {got!r}, want {want!r}")
    print(f"✓ {text}" + (f": {_short(got)}" if got is not True else ""))


def _equal(got: object, want: object) -> bool:
    return bool(_plain(got) == _plain(want))


def _plain(value: object) -> object:
    """Arrays, tensors and tuples as lists."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return [_plain(one) for one in value] if isinstance(value, (list, tuple, range)) else value


def _short(value: object) -> str:
    text = repr(value) if isinstance(value, str) else str(value).replace("\n", " ")
    return text if len(text) <= 60 else text[:57] + "..."


def gap(question: str, guess: float, truth: float, unit: str = "") -> None:
    """Prints how far a prediction lies from what turned out, as a factor: the reader's own score."""
    if not all(isinstance(v, (int, float)) and v > 0 for v in (guess, truth)):
        raise ValueError(f"a prediction is a positive number, got {guess!r} for {truth!r}")
    factor = max(guess / truth, truth / guess)
    side = "exactly right" if factor == 1 else f"{factor:.3g} times too {'high' if guess > truth else 'low'}"
    print(f"{question} You said {guess:g}{unit}, it is {truth:g}{unit}: {side}.")


@contextmanager
def refuses(expected: type[BaseException]) -> Iterator[SimpleNamespace]:
    """Prints the message of the error that a lesson wants (`as caught`: caught.message), and raises ClaimError if none came."""
    caught = SimpleNamespace(message="")
    try:
        yield caught
    except expected as error:
        caught.message = str(error)
        print(f"{type(error).__name__}: {error}")
    else:
        raise ClaimError(f"expected {expected.__name__}, but nothing was raised")
