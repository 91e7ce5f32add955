"""The verdict on single messages of torch.distributed, NCCL, Gloo, stores and CUDA, by singles.toml. Chapter: yours."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from helpers.nccl.output.tables.errors import NoTable
from helpers.plain_file import text_of
from helpers.units import nbytes_text
from helpers.yours.causes import cause
from helpers.yours.logs.known import which
from helpers.yours.verdict import Cause, Verdict
from helpers.yours.words.said import one_line, rank_at, ranks_text

_AROUND = (300, 900)  # letters before and behind the literal words, among which a message stands
_MOST = 200  # places of one message that are looked at


class Message(NamedTuple):
    """One entry: its literal words, its pattern, the name of its cause, what it says, whether it accuses (None: as its kind)."""

    keys: tuple[str, ...]
    words: re.Pattern[str]
    cause: str
    why: str
    accuses: bool | None
    unless: str | None


@cache
def messages() -> tuple[Message, ...]:
    """singles.toml."""
    read = tomllib.loads(text_of(Path(__file__).with_name("singles.toml")))
    return tuple(
        Message(
            tuple(row["key"].split("|")),
            re.compile(row["words"], re.MULTILINE | re.ASCII | re.DOTALL),
            row["cause"],
            row["why"],
            row.get("accuses"),
            row.get("unless"),
        )
        for row in read["message"]
    )


KEYS = tuple(dict.fromkeys(key for message in messages() for key in message.keys))


def of_singles(paste: str) -> Verdict:
    """Each message once, with the first rank that says it; NoTable where none of them is whole."""
    causes = tuple(_causes(paste))
    if not causes:
        raise NoTable(
            "words of torch.distributed, and no message that is known here: give it whole, with the lines around it"
        )
    first = next((one for one in causes if one.accuses), causes[0])
    what = (
        "a message of torch and its libraries"
        if len(causes) == 1
        else f"{len(causes)} messages of torch and its libraries"
    )
    return Verdict("words", what, f"{first.why[:1].upper()}{first.why[1:]}.", causes=causes)


def _causes(paste: str) -> Iterator[Cause]:
    seen = set[str]()
    for message in messages():
        found = _find(paste, message)
        if found is None or message.cause in seen:
            continue
        at, one = found
        seen.add(message.cause)
        rank = rank_at(paste, at)
        by = f" (told by rank {rank})" if rank is not None else ""
        accuses = False if message.unless and message.unless in paste else message.accuses
        yield cause(message.cause, message.why.format_map(_told(one)) + by, accuses=accuses)


def is_told(words: str) -> bool:
    """Whether these words are a message that is known here, so that nobody else has to explain them."""
    return any(_find(words, message) for message in messages()) or which(words, named=False) is not None


def _find(paste: str, message: Message) -> tuple[int, re.Match[str]] | None:
    """The first place, and what stands there."""
    for key in message.keys:
        at = paste.find(key)
        for _ in range(_MOST):
            if at < 0:
                break
            begin = max(0, at - _AROUND[0])
            if found := message.words.search(paste[begin : at + _AROUND[1]]):
                return begin + found.start(), found
            at = paste.find(key, at + len(key))
    return None


def _told(one: re.Match[str]) -> dict[str, str]:
    """What `why` may name: the groups, all of it, a size in words."""
    groups = {name: one_line(value or "") for name, value in one.groupdict().items()}
    if "ranks" in groups:
        groups["ranks"] = ranks_text(sorted({int(rank) for rank in re.findall(r"\d+", groups["ranks"])}))
    return groups | {"all": one_line(one[0]), "size": nbytes_text(int(groups.get("nbytes") or 0))}
