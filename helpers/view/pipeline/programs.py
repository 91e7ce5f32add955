"""The orders of `helpers.pipeline` as the page gets them: a letter an action, repeats packed. `programs.mjs` reads them. Chapter: pipeline.

A letter is a kind and which of the rank's stages: the first STAGES letters are F, the next are B, and so on. The microbatch is not
said: every order takes those of one kind and stage from 0 on, and `letters` refuses one that does not. "(ae)3" is "aeaeae".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from string import ascii_lowercase

from helpers.collectives import ScheduleError
from helpers.pipeline import SCHEDULES
from helpers.pipeline.action import KINDS, Action

RANKS, MICROBATCHES, STAGES = 8, 32, 4  # the most of each that the widget draws
COMPUTES = [kind for kind, row in KINDS.items() if row.takes]
LONGEST = 6  # letters of a repeat
REPEAT = re.compile(r"\(([a-zA-Z]+)\)(\d+)|([a-zA-Z])(\d+)")


def letters(actions: Iterable[Action], nranks: int) -> str:
    """One rank's computations as letters. ScheduleError for one whose microbatches are out of order."""
    next_: Counter[tuple[str, int]] = Counter()
    told = []
    for action in actions:
        if action.microbatch != next_[action.kind, action.stage]:
            raise ScheduleError(f"{action} comes out of order: microbatch {next_[action.kind, action.stage]} is next")
        next_[action.kind, action.stage] += 1
        told.append(ascii_lowercase[COMPUTES.index(action.kind) * STAGES + action.stage // nranks])
    return "".join(told)


def packed(text: str) -> str:
    """The letters with what repeats told once; `unpacked` is its reverse."""
    found, at = [], 0
    while at < len(text):
        unit, times = max((_repeats(text, at, n) for n in range(1, LONGEST + 1)), key=_spares)
        found.append(unit if times == 1 else f"{unit}{times}" if len(unit) == 1 else f"({unit}){times}")
        at += len(unit) * times
    return "".join(found)


def _repeats(text: str, at: int, length: int) -> tuple[str, int]:
    """The next `length` letters, and how often they stand there one after the other; 1 letter once where that spares nothing."""
    unit, times = text[at : at + length], 1
    while text.startswith(unit, at + length * times):
        times += 1
    return (unit, times) if _spares((unit, times)) > 0 else (text[at], 1)


def _spares(repeat: tuple[str, int]) -> int:
    """Letters fewer than without packing."""
    unit, times = repeat
    return len(unit) * (times - 1) - len(f"{times}") - 2 * (len(unit) > 1)


def unpacked(text: str) -> str:
    """The letters that were packed: what the page does."""
    return REPEAT.sub(lambda found: (found[1] or found[3]) * int(found[2] or found[4]), text)


@cache
def sizes(name: str) -> dict[tuple[int, int, int], None]:
    """(nranks, nmicrobatches, nvirtual) that the widget offers for a schedule, in order."""
    weaves = SCHEDULES[name].interleaves
    found = [(p, m) for p in range(1, RANKS + 1) for m in range(1, MICROBATCHES + 1) if not weaves or m % p == 0]
    return dict.fromkeys((p, m, v) for p, m in found for v in (range(1, STAGES + 1) if weaves else (1,)))


@cache
def known() -> dict:
    """What the widget must know: every schedule's title, whether it interleaves, and its packed programs by "p.m.v", a word a rank."""
    return {
        name: {
            "title": builder.title,
            "interleaves": builder.interleaves,
            "programs": {f"{p}.{m}.{v}": _programs(name, p, m, v) for p, m, v in sizes(name)},
        }
        for name, builder in SCHEDULES.items()
    }


def _programs(name: str, nranks: int, nmicrobatches: int, nvirtual: int) -> str:
    order = SCHEDULES[name].order
    ranks = (order(rank, nranks, nmicrobatches, nvirtual) for rank in range(nranks))
    return " ".join(packed(letters(actions, nranks)) for actions in ranks)
