"""What NCCL warned of: the root first, what only follows behind it, each cause once. Chapter: yours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from helpers.nccl import DebugLog
from helpers.yours.causes import cause
from helpers.yours.logs.known import Known, which
from helpers.yours.verdict import TOO_LITTLE, Cause, Verdict

LOG = re.compile(  # NCCL's own lines; torch's exceptions have "NCCL version" within a line
    r"[NR]CCL (?:INFO|WARN|ATTN) |^(?:\[[^\]\n]{1,20}\](?:<std\w+>)?:? ?|\d+: ?)?[ \t]*[NR]CCL version(?: :)? \d",
    re.MULTILINE | re.ASCII,
)
NAMES = (  # of its errors, as torch and nccl-tests print them
    *(
        f"nccl{kind}"
        for kind in (
            "UnhandledCudaError",
            "SystemError",
            "RemoteError",
            "InternalError",
            "InvalidUsage",
            "InvalidArgument",
        )
    ),
    "NCCL error",
    "NCCL failure",
    "Last error:",
)
SHORT = 1 << 16  # letters: in a longer text without NCCL's lines only those near its errors' names are looked at
MOST = 1000  # different ones that are looked at
QUOTED = 300  # letters of a line
_DIGITS = re.compile(r"\d[\da-f]*")
Told = tuple[int, str, Known | None]  # the line's number, its text, and what it is


def bare(text: str) -> list[tuple[int, str]]:
    """Lines outside NCCL's log that carry an error of it: with its name, behind "Last error:", or in words that only NCCL uses."""
    if not any(name in text for name in NAMES) and len(text) > SHORT:
        return []
    found, after = list[tuple[int, str]](), False
    for number, line in enumerate(text.split("\n"), start=1):
        last, after = after, line.rstrip().endswith("Last error:")
        named = last or any(name in line for name in NAMES)
        if LOG.search(line) or not line.strip() or not (named or len(text) <= SHORT):
            continue
        if last or which(line, named) is not None:
            found.append((number, line.strip()))
        if len(found) == MOST:
            break
    return found


class ErrorSign:
    """Found in a text with an error of NCCL and no line of its log."""

    def search(self, text: str) -> object:
        return None if LOG.search(text) else bare(text) or None


def of_errors(text: str) -> Verdict:
    """What torch or nccl-tests printed of an error, without NCCL's log."""
    told = [(number, line, which(line)) for number, line in bare(text)]
    said = headline(told).strip()
    return Verdict("log", "an error of NCCL", said, TOO_LITTLE, causes=tuple(causes(told)), lines=tuple(asked(told)))


def told_by(log: DebugLog, text: str) -> list[Told]:
    """Warnings of a log, notices that are known, errors beside it, in order; what is written again with other digits, once."""
    own = {**log.warnings, **log.notices}
    lines = [(line, f"{log.places.get(line, '')} {message}".strip()) for line, message in own.items()]
    seen: dict[str, tuple[int, str]] = {}
    for number, line in sorted([*lines, *(bare(text) if text else [])]):
        seen.setdefault(_DIGITS.sub("0", line), (number, line))
    told = [(number, line, which(line)) for number, line in islice(seen.values(), MOST)]
    return [one for one in told if one[2] is not None or one[0] not in log.notices]


def headline(told: Iterable[Told]) -> str:
    """What the first root says, else the first that follows: "/dev/shm is full. "; "" where none is known that ends a job."""
    known = sorted((one.follows, number, one.why) for number, _, one in told if one is not None and not one.mild)
    return f"{known[0][2][:1].upper()}{known[0][2][1:]}. " if known else ""


def causes(told: Iterable[Told]) -> Iterator[Cause]:
    """Roots in the order of their lines, then one that is not known, then what follows; only without a root what follows accuses."""
    first: dict[str, tuple[int, str, Known]] = {}
    for number, line, one in told:
        if one is not None:
            first.setdefault(one.name, (number, line, one))
    roots = [one for one in first.values() if not one[2].follows and not one[2].mild]
    unknown = [(number, line) for number, line, one in told if one is None]
    for number, line, one in roots:
        yield _of(number, line, one)
    if unknown:
        more = f"; {len(unknown) - 1} more" if len(unknown) > 1 else ""
        yield cause("warning", f"line {unknown[0][0]} warns: {unknown[0][1][:160]}{more}", accuses=not roots)
    for number, line, one in first.values():
        if one.follows:
            yield _of(number, line, one, accuses=not roots and not unknown)
    for number, line, one in first.values():
        if one.mild:
            yield _of(number, line, one)


def _of(number: int, line: str, one: Known, accuses: bool | None = None) -> Cause:
    quoted = line if len(line) <= QUOTED else f"{line[:QUOTED]} ..."
    return cause(one.name, f"line {number}, {quoted!r}: {one.why}. What helps: {one.cure}", accuses=accuses)


def asked(told: Iterable[Told]) -> Iterator[str]:
    """Where each was asked about."""
    named = {one.name: one for *_, one in told if one is not None}
    for one in named.values():
        yield f"{one.name} ({one.versions}): asked in {one.thread}"
