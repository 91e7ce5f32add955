"""Which fault report speaks: each stands in a file of `reports`, says when it may speak, and is asked in order. Chapter: hangs.

A report is a function of the Evidence that returns one line, root cause first, or None where the notes do not tell. It says only
what is certain: a healthy program is never accused (tests/ranks/test_reasons.py plays hundreds of them).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property

from . import reports
from .waits import Journals, Wait, waits


class When(Enum):
    """When a report may speak."""

    AT_ANY_TIME = "what ranks have entered contradicts itself; every journal could be read"
    ALL_FINISHED = "every rank has returned, and something is left over"
    NOTHING_MOVES = "somebody waits; a rank that did not answer has None for a journal"


@dataclass(frozen=True)
class Evidence:
    """journals: by rank. gone: ranks that have finished. doing: in words, by rank, what each does ("running at cell line 7")."""

    journals: Journals
    gone: Collection[int] = ()
    doing: Sequence[str] = ()

    @cached_property
    def waits(self) -> dict[int, Wait]:
        """What every rank that is in an operation lacks there, by rank."""
        return waits(self.journals, self.gone)


Finder = Callable[[Evidence], str | None]


@dataclass(frozen=True)
class Report:
    """order: who is asked first among those of the same moment. certain: no deadline need pass before it is believed."""

    find: Finder
    when: When
    order: int
    certain: bool


REPORTS: list[Report] = []


def report(when: When, order: int, certain: bool = False) -> Callable[[Finder], Finder]:
    """Registers a function of Evidence as a fault report."""

    def register(find: Finder) -> Finder:
        REPORTS.append(Report(find, when, order, certain))
        REPORTS.sort(key=lambda known: known.order)
        return find

    return register


def first(when: When, evidence: Evidence) -> str | None:
    """What the first report that has something to say at this moment says."""
    return next(filter(None, (known.find(evidence) for known in _known() if known.when is when)), None)


def certain(evidence: Evidence) -> str | None:
    """Why waiting longer cannot help, where that is certain before any deadline; None while it is not."""
    return next(filter(None, (known.find(evidence) for known in _known() if known.certain)), None)


def _known() -> list[Report]:
    _load()
    return REPORTS


@cache
def _load() -> None:
    for module in pkgutil.iter_modules(reports.__path__):
        importlib.import_module(f"{reports.__name__}.{module.name}")
