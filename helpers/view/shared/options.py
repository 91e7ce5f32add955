"""Options of a widget's directive as its page spells them: each function turns the written words into a value, or raises ValueError."""

from __future__ import annotations


def whole(words: str | None) -> int:
    """A whole number from 0."""
    try:
        value = int(words or "")
    except ValueError:
        raise ValueError(f"expected a whole number, got {words!r}") from None
    if value < 0:
        raise ValueError(f"expected a whole number from 0, got {value}")
    return value


def positive(words: str | None) -> int:
    """A whole number from 1."""
    if (value := whole(words)) == 0:
        raise ValueError("expected a whole number from 1, got 0")
    return value


def text(words: str | None) -> str:
    """Words, at least one."""
    if not words or not words.strip():
        raise ValueError("expected a value, got nothing")
    return words.strip()


def flag(words: str | None) -> bool:
    """An option without a value: True where it stands."""
    if words and words.strip():
        raise ValueError(f"expected no value, got {words!r}")
    return True
