"""The lines of a pasted log, without what launchers, collectors and terminals put around them. Chapters: benchmarking, choosing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# Tabs, no-break spaces of a web page, and the mark that Windows begins a text with
_SPACE = re.compile(r"[^\S\n ]|\ufeff")
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\[\d{1,2}(?:;\d{1,2})*m")  # or what a page leaves of them
_BEFORE = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        r"\((?:[\w.-]+, )?\w+=[^,()]*(?:, \w+=[^,()]*)*\)\s",  # Ray, SkyPilot: (head, rank=0, pid=3808)
        r"\[[\w.@-]+,\d+\]<std(?:out|err)>:",  # mpirun --tag-output: [1,0]<stdout>:
        r"\[[\w.:/-]+\]:?\s",  # [node-1], [default0]:, kubectl logs --prefix: [pod/worker-0/nccl]
        r"\d+:\s",  # srun --label
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?:?\s",
        r"\d\d:\d\d:\d\d(?:[.,]\d+)?:?\s",
        r"[A-Za-z][\w./-]*\s*\|\s",  # docker compose
        r"(?!NIC\d+:)[A-Za-z][\w.-]*:\s",  # a host, as pdsh and clush write it; not a legend of nvidia-smi
        r">\s",  # a quotation
    )
)
_MOST = 6  # of them one after the other


class Line(NamedTuple):
    """One line: its number, from 1 on, what is left of it, how it was written, and what it is called in an error."""

    number: int
    text: str
    written: str
    name: str = "line"


def spaced(text: str) -> str:
    """The text with \\n at the end of its lines, and no other white space than plain ones between its words."""
    return _SPACE.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))


def cleaned(text: str) -> Iterator[Line]:
    """Every line, without prefixes of MPI, Slurm, containers, hosts and clocks. The spaces behind them stay."""
    for number, written in enumerate(spaced(text).split("\n"), start=1):
        yield Line(number, _without(_COLOURS.sub("", written)), written)


def _without(text: str) -> str:
    for _ in range(_MOST):
        bare = text.lstrip()
        found = next((hit for pattern in _BEFORE if (hit := pattern.match(bare))), None)
        if found is None:
            break
        text = bare[found.end() :]
    return text
