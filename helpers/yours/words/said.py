"""Where words stand in a paste: the line without what launchers put before it, and the rank that says it. Chapter: yours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from helpers.nccl.output.tables.cleaned import cleaned

# Before a line, or in it: [rank3]: of torch, rank=3 of Ray and of torch's nccl2, [Rank 3], [default3]: of torchrun, 3: of srun --label
_RANKS = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        r"\[rank ?(\d{1,7})\]",
        r"\brank=(\d{1,7})\b",
        r"\[(?:PG [^\]]*)?Rank (\d{1,7})\]",
        r"^\s*\[default(\d{1,7})\]:",
        r"^\s*(\d{1,7}): ",
    )
)
_LEAD = 200  # letters before the words, in which a rank is looked for
_PARAGRAPH = 24  # lines that a message may be broken into


class Words:
    """A sign made of literal words: one pass each, at C's speed, over a log of any length."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def search(self, paste: str) -> bool:
        """Whether any of them stands in the paste."""
        return any(word in paste for word in self.words)


class Said(NamedTuple):
    """at: where its words begin in the paste. rank: that says it, None where no prefix tells. text: from its words on, in one line."""

    at: int
    rank: int | None
    text: str


def said(paste: str, words: re.Pattern[str], most: int = 4000) -> Iterator[Said]:
    """Every place of the words, with what follows up to the next one, at most so many letters, without prefixes and line breaks."""
    starts = [found.start() for found in words.finditer(paste)]
    for start, end in pairwise([*starts, len(paste)]):
        yield Said(start, rank_at(paste, start), one_line(paste[start : min(end, start + most)]))


def rank_at(paste: str, at: int) -> int | None:
    """Of the process that wrote this place of its line, by the first kind of prefix that stands there: the nearest before, else behind."""
    begin = max(paste.rfind("\n", 0, at) + 1, at - _LEAD)
    end = paste.find("\n", at)
    before, behind = paste[begin:at], paste[at : min(end if end >= 0 else len(paste), at + _LEAD)]
    for pattern in _RANKS:
        if numbers := [*pattern.findall(before)[-1:], *pattern.findall(behind)]:
            return int(numbers[0])
    return None


def one_line(text: str) -> str:
    """The first lines of a text as one, without their prefixes and doubled spaces."""
    lines = (line.text for line in cleaned("\n".join(text.split("\n", _PARAGRAPH)[:_PARAGRAPH])))
    return " ".join(" ".join(lines).split())


def ranks_text(ranks: Sequence[int]) -> str:
    """ "rank 3", "ranks 0, 1 and 2", "ranks 0 to 7", "ranks 0, 2, 4 and 5 more"; "" of none."""
    if len(ranks) < 2:
        return f"rank {ranks[0]}" if ranks else ""
    if len(ranks) > 3 and list(ranks) == list(range(ranks[0], ranks[-1] + 1)):
        return f"ranks {ranks[0]} to {ranks[-1]}"
    shown = list(map(str, ranks[:8]))
    last = shown.pop() if len(ranks) <= 8 else f"{len(ranks) - 8} more"
    return f"ranks {', '.join(shown)} and {last}"
