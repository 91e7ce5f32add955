"""The verdict on a job that its launcher saw end: which process was first, by what, and who only followed. Chapter: yours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from helpers.nccl.output.tables.errors import NoTable
from helpers.yours.causes import cause
from helpers.yours.verdict import Cause, Verdict
from helpers.yours.words import raised
from helpers.yours.words.exits import NAMES, Ended, ends, table
from helpers.yours.words.memory import ASKED
from helpers.yours.words.said import ranks_text
from helpers.yours.words.singles import is_told

_WATCHDOG = re.compile(r"[Ww]atchdog caught|watchdog (?:thread terminated|detected)|taking the entire process down")
_WHAT = re.compile(r"what\(\): +([^\n]{1,300})")
SHOWN = 24  # lines
CUT = " torchrun's root cause, which it prints below the other failures, is not in the text: another rank may have ended before."
_LOADS = re.compile(r"Loading (?:checkpoint|safetensors checkpoint|pt checkpoint) shards|from_pretrained")


def of_ends(paste: str) -> Verdict:
    """Of all ends in the paste the first; the others are named, and not accused."""
    ended = ends(paste)
    if not ended:
        raise NoTable('words of a launcher, and no process that ended: give its table whole, from "Root Cause" on')
    first, later = ended[0], ended[1:]
    what = f"how a job ended, as told by {', '.join(dict.fromkeys(one.by for one in ended))}"
    cut = first.time and not any(one.root for one in ended)
    order = "is the first that is shown" if cut else "ended first"
    sentence = f"{_upper(_who(first))}{_when(first)} {order}: {_code(first)}.{_later(later)}{CUT if cut else ''}"
    lines = tuple(f"{_who(one)}{_when(one)} {_code(one)}" for one in ended[:SHOWN])
    return Verdict("words", what, sentence, causes=tuple(_causes(paste, first)), lines=lines)


def _upper(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _who(one: Ended) -> str:
    rank = (
        f"rank {one.rank}"
        if one.rank is not None
        else f"local rank {one.local}"
        if one.local is not None
        else "a process"
    )
    more = [f"local rank {one.local}"] if None not in (one.rank, one.local) and one.rank != one.local else []
    more += [f"pid {one.pid}"] if one.pid is not None else []
    return rank + (f" ({', '.join(more)})" if more else "") + (f" on {one.host}" if one.host else "")


def _when(one: Ended) -> str:
    return f", at {one.time.replace('_', ' ')}," if one.time else ""


def _code(one: Ended) -> str:
    if one.code >= 0:
        return f"exit status {one.code}"
    return f"signal {-one.code} ({NAMES[-one.code]})" if -one.code in NAMES else f"signal {-one.code}"


def _later(later: Sequence[Ended]) -> str:
    """Who came after, by how they ended."""
    if not later:
        return ""
    by_code: dict[str, list[Ended]] = {}
    for one in later:
        by_code.setdefault(_code(one), []).append(one)
    return f" After it: {'; '.join(f'{_some(ones)}, {code}' for code, ones in by_code.items())}."


def _some(ones: Sequence[Ended]) -> str:
    ranks = sorted({one.rank for one in ones if one.rank is not None})
    return ranks_text(ranks) or f"{len(ones)} process{'es' if len(ones) > 1 else ''}"


def _causes(paste: str, first: Ended) -> Iterator[Cause]:
    if first.code == 1:
        yield _raised(paste, first)
        return
    told = next((entry for entry in table()["ends"] if entry["code"] == first.code), None)
    if told is None:
        yield cause(
            "Python exception",
            f"{_who(first)} ended with {_code(first)}, which its own program chose: its log says why",
        )
        return
    if first.code == -9:
        yield _killed(paste, first, told["why"])
        return
    name, why = told["cause"], told["why"].format(who=_who(first))
    if first.code == -6:
        yield _aborted(paste, first, why)
        return
    yield cause(name, why, accuses=not first.follows or first.by == "SignalException")


def _aborted(paste: str, first: Ended, why: str) -> Cause:
    """SIGABRT: by the watchdog, or by an exception of C++ whose words stand there."""
    if _WATCHDOG.search(paste):
        return cause(
            "aborted", f"{_who(first)} was ended by torch's watchdog, whose line stands in the text", accuses=False
        )
    if (said := _WHAT.search(paste)) is None:
        return cause("aborted", why)
    return cause(
        "aborted", f'{_who(first)} ended itself (SIGABRT) after "{said[1].strip()}"', accuses=not is_told(said[1])
    )


def _raised(paste: str, first: Ended) -> Cause:
    """A Python exception: which, where the paste has it. One that tells of another rank's end accuses nobody."""
    found = raised.own(paste, first.rank)
    if found is None:
        why = f"{_who(first)} ended in an exception, whose traceback stands further up in its log, not in what is pasted here"
        return cause("Python exception", why, accuses=False)
    who = f"rank {found.rank}" if found.rank is not None else "the text"
    if found.follows:
        why = f'{_who(first)} says "{found}", as a rank does when another has gone or never came: look for that one\'s log'
        return cause("peer ended", why, accuses=False)
    other = found.rank is not None and first.rank is not None and found.rank != first.rank
    why = f'{who} has "{found}"' + (
        ", which is its own fault, while the rank that ended first may only have met its end" if other else ""
    )
    return cause(
        "Python exception", why, accuses=not ASKED.search(paste) and not is_told(f"{found.name}: {found.said}")
    )


def _killed(paste: str, first: Ended, why: str) -> Cause:
    """SIGKILL: by whom, where the paste proves it."""
    if first.forced:
        return cause(
            "terminated",
            f"{_who(first)} was killed by its launcher, because it did not end when it was asked to",
            accuses=False,
        )
    proofs = [(full["who"], found) for full in table()["full"] for found in full["words"].finditer(paste)]
    if not proofs:
        loads = (
            "; checkpoints were being loaded, each process its own copy in the host's memory"
            if _LOADS.search(paste)
            else ""
        )
        return cause("killed", why.format(who=_who(first)) + loads)
    by, found = next(((by, one) for by, one in proofs if _is_of(one, first)), proofs[0])
    other = (
        "" if _is_of(found, first) else " (in a container a process has another number than its host's kernel writes)"
    )
    return cause("killed", f'{_who(first)} was killed by {by}: "{found[0]}"{other}')


def _is_of(found: re.Match[str], one: Ended) -> bool:
    pid = found.groupdict().get("pid")
    return None in (pid, one.pid) or int(pid or 0) == one.pid
