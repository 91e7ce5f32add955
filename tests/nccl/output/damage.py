"""Texts damaged in every way that a log is damaged on its way, and data with a value that is wrong: from one seed always the same."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from typing import Any

LETTERS = "0123456789 -/[]>:.xabNCL\t\u00e9\x00"


def damaged(lines: list[str], seed: int, count: int, window: int = 12) -> Iterator[str]:
    """`count` texts of a few neighbouring lines, each with one to three faults."""
    chance = random.Random(seed)
    for _ in range(count):
        start = chance.randrange(max(1, len(lines) - window))
        text = "\n".join(lines[start : start + window])
        for _ in range(chance.randint(1, 3)):
            text = chance.choice(FAULTS)(text, chance)
        yield text


def _cut(text: str, chance: random.Random) -> str:
    """The text ends in the middle."""
    return text[: chance.randrange(len(text) + 1)]


def _lose(text: str, chance: random.Random) -> str:
    start = chance.randrange(len(text) + 1)
    return text[:start] + text[start + chance.randint(1, 30) :]


def _replace(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(LETTERS) + text[at + 1 :]


def _insert(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(LETTERS) * chance.choice((1, 1, 40, 5000)) + text[at:]


def _tear(text: str, chance: random.Random) -> str:
    """One line written into another."""
    lines = text.split("\n")
    one, other = chance.choice(lines), chance.randrange(len(lines))
    at = chance.randrange(len(lines[other]) + 1)
    lines[other] = lines[other][:at] + one + "\n" + lines[other][at:]
    return "\n".join(lines)


def _shuffle(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    chance.shuffle(lines)
    return "\n".join(lines)


def _double(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    return "\n".join([*lines, chance.choice(lines)])


FAULTS = (_cut, _lose, _replace, _replace, _insert, _tear, _shuffle, _double)


def mutated(one: Any, chance: random.Random, junk: Sequence[object], early: float) -> Any:
    """A copy of plain data with one value left out, or replaced by junk, anywhere; early: how often a list or dict goes whole."""
    one = copy.deepcopy(one)
    at = one
    while True:
        key = chance.choice(list(at)) if isinstance(at, dict) else chance.randrange(len(at))
        inner = at[key]
        if not isinstance(inner, (dict, list)) or not inner or chance.random() < early:
            break
        at = inner
    if chance.random() < 0.2:
        del at[key]
    else:
        at[key] = chance.choice(junk)
    return one
