"""How an exercise answers: in words, with the smallest failing case, and never with a traceback of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


class NotYetError(Exception):
    """An answer that does not solve the exercise; the message shows the smallest failing case and a hint."""


@dataclass(frozen=True)
class Answer:
    """What the checker found. passed: solved or not. message: why."""

    passed: bool
    message: str

    def __repr__(self) -> str:
        return f"{'Solved' if self.passed else 'Not yet'}. {self.message}"


def judge(cases: Iterable[object], test: Callable[[object], None], praise: str) -> Answer:
    """Runs test(case), smallest case first; the first error of any kind becomes the answer's message."""
    for case in cases:
        try:
            test(case)
        except NotYetError as error:
            return Answer(False, str(error))
        except Exception as error:  # the reader's own code may raise anything; it is shown, not hidden
            return Answer(False, f"At {case}: {type(error).__name__}: {error}")
    return Answer(True, praise)
