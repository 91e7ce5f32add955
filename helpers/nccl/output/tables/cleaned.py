"""The lines of a pasted log, without what launchers, collectors and terminals put around them. Chapters: benchmarking, choosing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from itertools import pairwise
from typing import NamedTuple

# Tabs, no-break spaces of a web page
_SPACE = re.compile(r"[^\S\n ]|\ufeff")
_UNSEEN = re.compile("[\0\u200b-\u200f\u2060]|^\ufeff")  # also the mark that Windows begins a text with
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\[\d{1,2}(?:;\d{1,2})*m")  # or what a page leaves of them
_ENTITY = re.compile(r"&(?:lt|gt|amp|nbsp|quot|#\d{2,4}|#x[0-9a-f]{2,4});", re.IGNORECASE)
_MARKUP = re.compile(r"</?(?:pre|code|span|div|br|details|summary)\b[^<>\n]{0,200}>|^[ >]*```\w*$", re.MULTILINE)
_NUMBER = re.compile(r" *(\d{1,6})(?:[:|] ?| |$)", re.ASCII)
_BEFORE = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        r"\((?:[\w.-]+,? )?\w+=[^,()]*(?:, \w+=[^,()]*)*\)\s",  # Ray, SkyPilot: (head, rank=0, pid=3808)
        r"\[[\w.@-]+,\d+\]<std(?:out|err)>:",  # mpirun --tag-output: [1,0]<stdout>:
        r"\[[\w.:/-]+\](?::\s?|\s)",  # [node-1], [default0]:, kubectl logs --prefix: [pod/worker-0/nccl]
        r"\d+:\s",  # srun --label
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?:?\s",
        r"(?:[A-Z][a-z]{2} [ \d]\d )?\d\d:\d\d:\d\d(?:[.,]\d+)?:?\s",
        r"std(?:out|err) [FP]\s",  # containers' logs
        r"(?:[\w.-]+ )?[A-Za-z][\w.-]*\[\d+\]:\s",  # journalctl: gpu-7 nccl[4211]:
        r"[A-Za-z][\w./-]*\s*\|\s",  # docker compose
        r"(?!NIC\d+:)[A-Za-z][\w.-]*:\s",  # a host, as pdsh and clush write it; not a legend of nvidia-smi
        r">+\s",  # a quotation
    )
)
_MOST = 6  # of them one after the other
_SPLIT = re.compile(r"\w\w")
_DIGIT = re.compile(r"\d")
_TERMINAL = range(40, 401)  # columns
_BEGINS = re.compile(r"\[(?:rank|default|E\d|W\d|I\d|F\d)|\d{4}-\d\d|Traceback|  File |#(?!\w)|[|+=]|--")
_SURE = 4  # lines that are numbered on, from which on all are


class Line(NamedTuple):
    """One line: its number, from 1 on, what is left of it, how it was written, and what it is called in an error."""

    number: int
    text: str
    written: str
    name: str = "line"


def spaced(text: str) -> str:
    """The text as it was printed: without what pages, editors and terminals put into it, its white space plain spaces and \\n."""
    if "&" in text and _ENTITY.search(text):
        text = unescape(text)
    if not text.isascii() or "\0" in text:
        text = _UNSEEN.sub("", text)
    text = _SPACE.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
    if "m" in text and "[" in text:
        text = _COLOURS.sub("", text)
    return _unnumbered(_MARKUP.sub("", text) if "<" in text or "```" in text else text)


def cleaned(text: str) -> Iterator[Line]:
    """Every line, without prefixes of MPI, Slurm, containers, hosts and clocks. The spaces behind them stay."""
    for number, written in enumerate(spaced(text).split("\n"), start=1):
        yield Line(number, bare(written), written)


def unwrapped(text: str, sure: bool = False, short: int = 0) -> str:
    """With the lines joined that a terminal broke at its width, within words too: those of the longest line's length.

    A line that begins as a message does is none that goes on. short: blanks that a line may lack at its end. sure: only where a word
    was broken, and what goes on begins as no other line.
    """
    lines = text.split("\n")
    width = max(map(len, lines))
    if width not in _TERMINAL or (sure and not _broken(lines, width)):
        return text
    whole = [lines[0]]
    for before, line in pairwise(lines):
        goes_on = width - short <= len(before) and line.strip() and not _BEGINS.match(line)
        whole += [" " * (width - len(before)) if goes_on else "\n", line]
    return "".join(whole)


def _broken(lines: Sequence[str], width: int) -> bool:
    breaks = [(one, other) for one, other in pairwise(lines) if len(one) == width]
    begins = {_like(other) for one, other in pairwise(["", *lines]) if len(one) < width}
    return (
        len(breaks) > 1
        and any(_SPLIT.match(one[-1] + other[:1]) for one, other in breaks)
        and not any(_like(other) in begins for _, other in breaks)
    )


def _like(line: str) -> str:
    return _DIGIT.sub("0", line[:4])


def _unnumbered(text: str) -> str:
    """Without the numbers that an editor puts before every line."""
    first = _NUMBER.match(text)
    lines = text.rstrip("\n").split("\n") if first else []
    found = map(_NUMBER.match, lines)
    if (
        first is None
        or len(lines) < _SURE
        or not all(hit and int(hit[1]) == number for number, hit in enumerate(found, start=int(first[1])))
    ):
        return text
    return "\n".join(_NUMBER.sub("", line, count=1) for line in lines) + "\n"


def bare(text: str) -> str:
    """A line without what launchers, collectors and clocks put before it."""
    for _ in range(_MOST):
        start = text.lstrip()
        found = next((hit for pattern in _BEFORE if (hit := pattern.match(start))), None)
        if found is None:
            break
        text = start[found.end() :]
    return text
