"""What the page asks of a reader's own: a text or files and a machine, and the verdict as one JSON text. Chapter: yours."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from helpers.plain_gzip import GZIP, GzipError, unfolded
from helpers.units import nbytes_text
from helpers.yours.asked import PICKLE, is_my_number_good, text_of
from helpers.yours.share.hidden import hidden
from helpers.yours.share.report import report
from helpers.yours.verdict import refusal

MOST = 24 << 20  # bytes at once: more would keep a reader waiting for long, and fill a tab's memory
BOX = 1 << 18  # letters that a box on the page shows; a browser lays a longer text out for seconds
TOO_MUCH = (
    f"that is {{}}, and this page reads {nbytes_text(MOST)} at once at most, so that nobody waits for long: give less of it, or ask"
    " is_my_number_good in Python"
)
_OF_RANKS = (b"pg_config", b'"traceEvents"')  # every dump has one of them, every trace, and no other text of ours
_ENDING = re.compile(r"\.[a-z]\w*$", re.IGNORECASE | re.ASCII)


def verdict(given: str | Sequence[bytes], machine: str | None = None, names: Sequence[str] = ()) -> str:
    """`Verdict.as_json`, with `files`, what is said of each, and `text`, what several files of text are together, as far as a box shows it.

    given: a text, or the bytes of each file, perhaps packed by gzip. names: of the files. KeyError for a machine that is not there.
    """
    if isinstance(given, str):
        return json.dumps(is_my_number_good(given, machine).as_json() | {"files": list(names), "text": ""})
    try:
        thing, files = _read(given, names)
    except GzipError as error:
        return json.dumps(refusal(str(error)).as_json() | {"files": list(names), "text": ""})
    shown = thing if isinstance(thing, str) and len(thing) <= BOX else ""
    return json.dumps(is_my_number_good(thing, machine).as_json() | {"files": files, "text": shown})


def shared(given: str | Sequence[bytes], machine: str | None = None, names: Sequence[str] = ()) -> str:
    """JSON {"text": the verdict to paste into an issue}, without names of hosts, people and places."""
    try:
        thing = given if isinstance(given, str) else _read(given, names)[0]
    except GzipError as error:
        return json.dumps({"text": report(refusal(str(error)))})
    return json.dumps({"text": told_on(thing, machine)})


def told_on(thing: Any, machine: str | None) -> str:
    """The verdict on a text without its names, or on files, whose verdict then loses them. KeyError for a machine that is not there."""
    if isinstance(thing, bytes) and not thing.startswith(PICKLE):
        thing = text_of(thing)
    if isinstance(thing, str):
        return report(is_my_number_good(hidden(thing), machine))
    return hidden(report(is_my_number_good(thing, machine)))


def without_names(text: str) -> str:
    """JSON {"text": the text, with a placeholder for each host, address, user and path}."""
    return json.dumps({"text": hidden(text)})


def _read(given: Sequence[bytes], names: Sequence[str]) -> tuple[Any, list[str]]:
    """`together`, of as much as the page reads. GzipError for more, and for what is damaged."""
    contents = unfolded_all(given, names, MOST)
    if (nbytes := sum(map(len, contents))) > MOST:
        raise GzipError(TOO_MUCH.format(nbytes_text(nbytes)))
    return together(contents, names)


def together(contents: Sequence[bytes], names: Sequence[str]) -> tuple[Any, list[str]]:
    """What several files are, and a word on each: dumps and traces go by rank, texts follow each other, as logs of processes do.

    One file is what it is.
    """
    if len(contents) == 1:
        return contents[0], list(names)
    if not any(all(word in one for one in contents) for word in _OF_RANKS):
        return "\n".join(one.decode("utf-8-sig", "replace") for one in contents), list(names)
    ordered = sorted(zip(ranks_of(names), contents, names, strict=True), key=lambda one: one[0])
    return {rank: one for rank, one, _ in ordered}, [f"rank {rank}: {name}" for rank, _, name in ordered]


def ranks_of(names: Sequence[str]) -> list[int]:
    """By the last number in each name, where these are all there and all different; else by the order of the names."""
    found = [re.findall(r"[0-9]+", _ENDING.sub("", name))[-1:] for name in names]
    numbers = [int(one) for last in found for one in last if len(one) < 8]
    return numbers if len(set(numbers)) == len(names) else list(range(len(names)))


def unfolded_all(contents: Sequence[bytes], names: Sequence[str], most: int) -> list[bytes]:
    """Those that are packed by gzip unpacked. GzipError, with the file's name, for one that is damaged or larger than `most` bytes."""
    return [_unfolded(content, name, most) for content, name in zip(contents, names, strict=True)]


def _unfolded(content: bytes, name: str, most: int) -> bytes:
    try:
        return unfolded(content, most) if content.startswith(GZIP) else content
    except GzipError as error:
        raise GzipError(f"{name} is {error}") from None
