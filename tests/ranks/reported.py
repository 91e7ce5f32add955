"""The fault reports as the tests ask them: one at a time, or as a call does."""

from collections.abc import Collection, Sequence

from helpers.ranks.hangs import reporting
from helpers.ranks.hangs.reporting import Evidence, When
from helpers.ranks.hangs.reports import left, mismatch, undelivered, uneven, unlike
from helpers.ranks.hangs.waits import Journals


def cause(journals: Journals, gone: Collection[int], doing: Sequence[str] = ()) -> str | None:
    """Why nothing moves, at the deadline."""
    return reporting.first(When.NOTHING_MOVES, Evidence(journals, gone, doing))


def certain(journals: Journals, pending: set[int]) -> str | None:
    """Why waiting longer cannot help, before the deadline."""
    return reporting.certain(Evidence(journals, set(range(len(journals))) - pending))


def leaves(journals: Journals, gone: Collection[int]) -> str | None:
    return left.left(Evidence(journals, gone))


def differs(journals: Journals) -> str | None:
    return mismatch.mismatch(Evidence(journals))


def unequal(journals: Journals) -> str | None:
    return uneven.uneven(Evidence(journals))


def unfit(journals: Journals) -> str | None:
    return unlike.unlike(Evidence(journals))


def left_over(journals: Journals) -> str | None:
    return undelivered.undelivered(Evidence(journals))
