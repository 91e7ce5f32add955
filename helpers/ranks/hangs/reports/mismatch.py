"""Ranks of one group are in different collectives, or in one with different sizes, types, roots or reductions. Chapter: hangs."""

from __future__ import annotations

import re
from collections import defaultdict

from helpers.ranks.hangs.reporting import Evidence, When, report
from helpers.ranks.hangs.words import SHOWN
from helpers.ranks.notes.notes import Note
from helpers.ranks.notes.reader_lines import ranks_text

_AGREED = re.compile(  # a tensor's type and size, a root, a reduction
    r"(\w+(?:\+\w+)*)(\[\d+\](?: in \d+ tensors)?)(?: root (\d+))?(?: (avg|product|min|max|band|bor|bxor|premul_sum|custom))?"
)


@report(When.AT_ANY_TIME, order=10, certain=True)
def mismatch(evidence: Evidence) -> str | None:
    """The first such collective in words: "ranks 0-2 are in all_reduce #4 ..., rank 3 in ..."."""
    calls: dict[tuple[int, str], list[tuple[int, Note]]] = defaultdict(list)
    for rank, journal in enumerate(evidence.journals):
        for note in journal.notes if journal else ():
            if note.collective:
                calls[note.number, note.group].append((rank, note))
    return next((_differing(same) for _, same in sorted(calls.items()) if _differ(same)), None)


def _differ(calls: list[tuple[int, Note]]) -> bool:
    """Nothing agreed upon (sizes that may differ from rank to rank) agrees with everything."""
    return len({note.op for _, note in calls}) > 1 or len({note.agreed for _, note in calls} - {""}) > 1


def _differing(calls: list[tuple[int, Note]]) -> str:
    """The majority first; where one thing alone differs, its name and nothing else."""
    kinds: dict[tuple[str, str], list[tuple[int, Note]]] = defaultdict(list)
    for rank, note in calls:
        kinds[note.signature].append((rank, note))
    ordered = sorted(kinds.values(), key=lambda same: (-len(same), same[0][0]))
    notes = [same[0][1] for same in ordered]
    head, verb, what = _one_difference(notes) or ("", ("is", "are"), [f"in {note}" for note in notes])
    who = [ranks_text([rank for rank, _ in same], most=SHOWN) for same in ordered]
    who[0] += f" {verb[len(ordered[0]) > 1]}"
    parts = [f"{r} {w} ({note.where})" for r, w, note in zip(who, what, notes, strict=True)]
    if len(parts) > SHOWN:
        parts[SHOWN - 1 :] = [f"{sum(len(same) for same in ordered[SHOWN - 1 :])} more ranks in other ways"]
    return head + ", ".join(parts)


def _one_difference(notes: list[Note]) -> tuple[str, tuple[str, str], list[str]] | None:
    """("roots differ in broadcast #1 of float32[8]: ", ("has", "have"), ["root 0", "root 1"]); None when more than one thing differs."""
    found = [_AGREED.fullmatch(note.agreed) for note in notes]
    if len({note.op for note in notes}) > 1 or not all(found):
        return None
    kinds = list(zip(*(match.groups() for match in found), strict=True))
    differing = [i for i, values in enumerate(kinds) if len(set(values)) > 1]
    if len(differing) > 1:
        return None
    name = ("types", "sizes", "roots", "reductions")[differing[0]]
    tensors = [match[1] + match[2] for match in found]
    what = (
        tensors
        if differing[0] < 2
        else [f"root {match[3]}" if name == "roots" else match[4] or "sum" for match in found]
    )
    common = notes[0]._replace(agreed="" if differing[0] < 2 else tensors[0])
    return f"{name} differ in {common}: ", ("has", "have"), what
