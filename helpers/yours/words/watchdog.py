"""The verdict on a collective that timed out: who waits in what, who is behind, and whether the ranks disagree. Chapter: yours."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from helpers.nccl.output.tables.errors import NoTable
from helpers.yours.causes import cause
from helpers.yours.verdict import Cause, Verdict
from helpers.yours.words.said import ranks_text
from helpers.yours.words.works import Counts, Work, counts, timed_out, works

# Of these all ranks of a group give the same number of elements; a root and uneven or coalesced calls may not.
EVEN = {"ALLREDUCE", "BROADCAST", "REDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE", "ALLREDUCE_COALESCED"}
Row = TypeVar("Row")
Key = TypeVar("Key")
FEW = 16  # calls: so early two groups may well be at one number
SHOWN = 24  # lines
_WORLD = re.compile(r"(?:world[_ ]size|WORLD_SIZE|nranks|num_processes)[\"' :=]{1,4}(\d{1,6})\b", re.ASCII)
APART = {"SEND", "RECV", "COALESCED", "UNKNOWN"}  # not one call of all ranks of the group


def of_watchdog(paste: str) -> Verdict:
    """Of all ranks whose lines stand in the paste. A rank without lines is named, and not accused: its log may not have come along."""
    rows = counts(paste)
    late = works(paste, rows)
    if not late and not rows:
        return _new(paste)
    named = [*(one.rank for one in late), *(row.rank for row in rows)]
    told = sorted({rank for rank in named if rank is not None})
    what = f"a time-out of torch's watchdog, as told by {ranks_text(told) or 'a rank without a name'}"
    world = max((int(size) for size in _WORLD.findall(paste)), default=None)
    causes = list(_causes(late, rows, told, world))
    return Verdict("words", what, _sentence(late, rows), causes=tuple(causes), lines=tuple(_lines(late, rows)))


def _new(paste: str) -> Verdict:
    found = list(timed_out(paste))
    if not found:
        raise NoTable(
            "words of torch's watchdog, and neither an operation nor counts: give the lines of all ranks whole"
        )
    ranks = sorted({rank for rank, _, _ in found if rank is not None})
    limit = next((ms for _, _, ms in found if ms is not None), None)
    after = f" after {limit / 1000:g} s" if limit is not None else ""
    what = f"a time-out of NCCL in torch 2.15 or later, as told by {ranks_text(ranks) or 'a rank without a name'}"
    sentence = f"A collective timed out{after}. The lines name who waited; neither the call, nor who did not come."
    why = "which call it was, and which rank never came to it, stands in the flight recorder's files alone: bring those of all ranks"
    return Verdict("words", what, sentence, causes=(cause("no dump", why, accuses=False),))


def _sentence(late: Sequence[Work], rows: Sequence[Counts]) -> str:
    """Who waits in what; by the counts alone where no line names the operation."""
    said = []
    for ones in _by(late, lambda one: (one.group, str(one))).values():
        first = ones[0]
        size = (
            f" of {int(first.sent):,} elements"
            if first.sent.isdigit()
            else f" of shape [{first.sent}]"
            if first.sent
            else ""
        )
        waited = f" for {(first.ran or first.limit) / 1000:.0f} s (limit {first.limit / 1000:g} s)"
        said.append(f"{_told([one.rank for one in ones])} waited in {first}{size}{_of(first.group)}{waited}")
    for (group, number), same in _by([row for row in rows if row.waits], lambda row: (row.group, row.next)).items():
        if not late:
            said.append(f"{_told([row.rank for row in same])} waited in call {number}{_of(group)}")
    shown = "; ".join(said[:4]) + (f"; and in {len(said) - 4} more calls" if len(said) > 4 else "")
    ahead = max((row.enqueued - row.completed for row in rows if row.sane), default=0)
    on = (
        f" The processor had gone on: {ahead} calls are enqueued and not complete, so its Python stands further down."
        if ahead > 1
        else ""
    )
    return f"{shown[:1].upper()}{shown[1:]}{_first(late)}.{on}" if shown else "No call is under way by these counts."


def _first(late: Sequence[Work]) -> str:
    """Whose line is the first in time, where that is not the same second for all."""
    clocks = sorted((one.clock, one.rank if one.rank is not None else -1) for one in late if one.clock)
    if not clocks or clocks[0][0] == clocks[-1][0]:
        return ""
    return f"; the first in time was rank {clocks[0][1]}, at {clocks[0][0].split()[1]}"


def _told(ranks: Sequence[int | None]) -> str:
    return ranks_text(sorted({rank for rank in ranks if rank is not None})) or "a rank"


def _of(group: str) -> str:
    return f" of group {group}" if group else ""


def _by(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    found: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return found


def _lines(late: Sequence[Work], rows: Sequence[Counts]) -> Iterator[str]:
    for row in sorted(rows, key=lambda row: (row.group, row.rank if row.rank is not None else -1))[:SHOWN]:
        done = f"completed {row.completed}" if row.sane else f"completed told as {row.completed}, which cannot be"
        yield f"rank {row.rank}, group {row.group or 'untold'}: enqueued {row.enqueued}, {done}"


def _causes(late: Sequence[Work], rows: Sequence[Counts], told: Sequence[int], world: int | None) -> Iterator[Cause]:
    differ = list(_differ(late, {row.group for row in rows if row.sure}))
    yield from differ
    groups = _by([row for row in rows if row.sane and row.rank is not None], lambda row: row.group)
    behind = [one for group in groups for one in _behind(group, groups, late)]
    yield from behind
    if not differ and not behind:
        yield from _together(late, groups, told, world)


def _differ(late: Sequence[Work], sure: set[str]) -> Iterator[Cause]:
    """The same number of one group, and another call. sure: groups whose names are the same on all ranks, and no others'.

    Two groups that go side by side have the same numbers; that they hang in one of many with another operation is no chance.
    """
    numbered = [one for one in late if one.number is not None and one.op not in APART]
    for (group, number), ones in _by(numbered, lambda one: (one.group, one.number or 0)).items():
        calls = _by(ones, lambda one: (one.op, one.sent if one.op in EVEN else ""))
        if len(calls) < 2 or len({one.rank for one in ones}) < 2:
            continue
        said = "; ".join(
            f"{_told([one.rank for one in same])}: {op}{f' of {sent} elements' if sent else ''}"
            for (op, sent), same in calls.items()
        )
        where = f"group {group}" if group else "a group"
        why = f"call {number} of {where} is not the same everywhere: {said}"
        if group in sure or (number > FEW and len({op for op, _ in calls}) > 1):
            yield cause("ranks disagree", why)
        else:
            yield cause(
                "ranks disagree", f"{why}; or it is of two groups, which these lines do not tell apart", accuses=False
            )


def _behind(group: str, groups: dict[str, list[Counts]], late: Sequence[Work]) -> Iterator[Cause]:
    """Ranks that have not enqueued the call in which others of their group wait; not those that wait in another group themselves."""
    members = groups[group]
    stuck = min((row.next for row in members if row.waits), default=None)
    elsewhere = {row.rank for other in groups for row in groups[other] if other != group and row.waits}
    missing = sorted(
        row.rank or 0 for row in members if stuck is not None and row.enqueued < stuck and row.rank not in elsewhere
    )
    if not missing or stuck is None:
        return
    waiting = sorted(row.rank or 0 for row in members if row.enqueued >= stuck)
    call = next((str(one) for one in late if one.number == stuck and one.group == group), f"call {stuck}")
    last = next(row.enqueued for row in members if row.rank == missing[0])
    has, wait = "has" if len(missing) == 1 else "have", "waits" if len(waiting) == 1 else "wait"
    why = (
        f"{ranks_text(waiting)} of group {group or 'untold'} {wait} in {call}, {ranks_text(missing)} {has} enqueued no more than {last}:"
        " not come to it, or stuck within that very call, as a call counts when it has returned. The numbers are those of this group alone"
    )
    if all(row.sure for row in members):
        yield cause("missing rank", why)
    else:
        yield cause("missing rank", f"{why}, and may be those of several: these lines do not name it", accuses=False)


def _together(
    late: Sequence[Work], groups: dict[str, list[Counts]], told: Sequence[int], world: int | None
) -> Iterator[Cause]:
    """Nobody is seen to be behind: all have come, or whoever has not wrote nothing that stands here. world: ranks, where the text tells."""
    if len(told) < 2:
        who = ranks_text(told) or "one rank"
        why = f"only {who} is told of, which waited: whoever did not come is another rank, and the lines of all ranks show which"
        yield cause("missing rank", why, accuses=False)
        return
    yield from (later := list(_one_later(groups)))
    where = {(one.rank, one.group, one.number) for one in late if one.op not in APART}
    where |= {(row.rank, group, row.next) for group, rows in groups.items() for row in rows if row.waits}
    calls = {call[1:] for call in where}
    same = ""
    if len(calls) == 1 and {one[0] for one in where} == set(told):
        number = next(iter(calls))[1]
        call = next((str(one) for one in late if one.number == number), f"call {number}")
        same = f"{ranks_text(told)} all wait in {call}, the same call: none of them is behind"
    if gaps := sorted(set(range(world or told[-1] + 1)) - set(told)):
        more = "" if world else f", nor of one above {told[-1]}"
        why = f"no line of {ranks_text(gaps)}{more} stands here: not come, dead, of another group, or with a log that was not brought along"
        yield cause("missing rank", "; ".join(filter(None, (same, why))), accuses=False)
    elif same:
        first = ". It is the first of its group: the way between them may never have worked" if number == 1 else ""
        why = f"{same}; if these are all ranks, a link, a card or a kernel hangs{first}; else one of which no line stands here has not come"
        yield cause("all waiting", why if world is None else why.partition("; else")[0], accuses=world == len(told))
    elif not later:
        why = "the ranks here wait in different calls, or in groups that no line names: the flight recorder's files tell how these depend"
        yield cause("no dump", why, accuses=False)


def _one_later(groups: dict[str, list[Counts]]) -> Iterator[Cause]:
    """Ranks that time out in a call which others of their group have completed: a remark, as the root of a broadcast may go on."""
    for group, rows in groups.items():
        stuck = [row for row in rows if row.sure and row.waits]
        last, first = max((row.next for row in stuck), default=0), min((row.next for row in stuck), default=0)
        if last == first or not any(row.at == last == row.next for row in stuck):
            continue
        behind, ahead = (ranks_text(sorted(row.rank or 0 for row in stuck if row.next == at)) for at in (first, last))
        why = (
            f"{behind} of group {group} wait{'' if ' and ' in behind or ' to ' in behind else 's'} in call {first}, which {ahead} completed"
            f" before waiting in call {last}: {last - first} behind. Their code may have taken different ways, so that calls do not match"
        )
        yield cause("ranks disagree", why, accuses=False)
