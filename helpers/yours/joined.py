"""Several forms in one paste as one verdict, and how a verdict ends. Chapter: yours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from helpers.yours.verdict import TOO_LITTLE, Cause, Verdict


def joined(found: Sequence[Verdict]) -> Verdict:
    """The first, or the first with a curve, with what all say; of two causes of one name the first, and what accuses before what does not.

    Left out is what tells too little, beside what tells more.
    """
    found = [one for one in found if one.causes or one.otherwise != TOO_LITTLE] or found
    first, *others = found
    if not others:
        return first
    causes: dict[str, Cause] = {}
    for one in sorted(chain.from_iterable(one.causes for one in found), key=lambda one: not one.accuses):
        causes.setdefault(one.name, one)
    ends = [one.otherwise for one in found if one.otherwise]
    return replace(
        next((one for one in found if one.points), first),
        what="; and ".join(one.what for one in found),
        sentence=" ".join(one.sentence for one in found if one.sentence),
        otherwise=ends[0] if ends else "",
        machine=next((one.machine for one in found if one.machine), ""),
        causes=tuple(causes.values()),
        lines=tuple(chain.from_iterable(one.lines for one in found)),
    )


def concluded(found: Verdict) -> Verdict:
    """With where to look first at its sentence's end, or that there is nothing to look at."""
    if found.refused:
        return found
    ends = f"Look first at: {found.accused[0]}." if found.accused else found.otherwise
    return replace(found, sentence=f"{found.sentence} {ends}".strip(), otherwise="")
