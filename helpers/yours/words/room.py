"""The verdict on a GPU without room: which number is which, whether they add up, and what would have been enough. Chapter: yours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from helpers.nccl.output.tables.errors import NoTable
from helpers.units import nbytes_text
from helpers.yours.causes import cause
from helpers.yours.verdict import Cause, Verdict
from helpers.yours.words.frames import asked_by
from helpers.yours.words.memory import OutOfMemory, out_of_memory

HUGE = 0.5  # of the card, asked for at once
MANY = 0.1  # of the card, held by named processes
UNNAMED = 0.2  # of the card, held by nobody that is named: this process's own CUDA context and NCCL may be among it
FULL = 0.99  # of what a process is allowed: sizes are told in three digits
ROUNDED = 16 << 20  # bytes that two digits behind the point may hide
LOOSE = 0.02  # of what is reserved: less is not worth a word
MUCH = 0.2  # of it: told though it would not have been enough
NEARLY = 0.9  # of the card, in tensors
PIECES = 0.05  # of what is reserved: a card so full is full first, and in pieces second
MORE = 0.02  # of the card, by which the parts may exceed it: they are read one after the other
CONTEXTS = (100 << 20, 2 << 30)  # bytes of a process that has a CUDA context and little else
SHOWN = 16  # messages
SEGMENTS = (2 << 20, 20 << 20)  # bytes that torch asks for where a tensor has less
RANKS = 3  # of such processes at least


def of_memory(paste: str) -> Verdict:
    """Of the first message in the paste: what failed first is printed first."""
    told: dict[tuple[object, ...], OutOfMemory] = {}  # an exception that was caught and raised again is told twice
    for one in out_of_memory(paste):
        told.setdefault((one.rank, one.gpu, one.asked, one.free), one)
    found = list(told.values())
    if not found:
        raise NoTable("words of an out-of-memory error, and no size that was asked for: give its line whole")
    first = found[0]
    frame, needs = asked_by(paste, first.at, first.rank)
    line = f" Asked for by {frame}{f' ({needs})' if needs else ''}." if frame else ""
    what = f"an out-of-memory error of torch, {_where(first)}{_others(found)}"
    lines = (*_sum(first), *map(_line, found[1:SHOWN]))
    return Verdict("words", what, f"{_sentence(first)}{line}", causes=tuple(_causes(first)), lines=lines)


def _where(one: OutOfMemory) -> str:
    said = [f"rank {one.rank}"] if one.rank is not None else []
    return ", ".join([*said, "GPU untold" if one.gpu is None else f"GPU {one.gpu}"])


def _others(found: Sequence[OutOfMemory]) -> str:
    """Which ranks say the same, in the order in which they do."""
    if len(found) == 1:
        return ""
    more = list(dict.fromkeys(_where(one) for one in found[1:]))
    return (
        f"; the first of {len(found)} in the text, then {', '.join(more[:8])}{' and others' if len(more) > 8 else ''}"
    )


def _line(one: OutOfMemory) -> str:
    free = "untold" if one.free is None else nbytes_text(one.free)
    return f"{_where(one)}: asked for {nbytes_text(one.asked)}, free {free}"


def _sentence(one: OutOfMemory) -> str:
    asked = f"{nbytes_text(one.asked)} asked for{' (a segment, for a tensor of any size up to it)' if one.asked in SEGMENTS else ''}"
    if not one.whole:
        return f"{asked} and not to be had; the rest of the message, which tells who holds the memory, is missing."
    return f"{asked}, {nbytes_text(one.free or 0)} free of the card's {nbytes_text(one.total or 0)}."


def _sum(one: OutOfMemory) -> Iterator[str]:
    """Which number is which: the parts of the card, and whether they are all of it."""
    if not one.whole:
        return
    graphs = f" and CUDA graphs ({nbytes_text(one.pools)} in their own pools)" if one.pools else ""
    yield f"{nbytes_text(one.total or 0)} of the card are:"
    yield f"{nbytes_text(one.allocated or 0)} in tensors{graphs}"
    yield f"{nbytes_text(one.unallocated or 0)} reserved by PyTorch but unallocated"
    if one.context is not None:
        yield f"{nbytes_text(one.context)} of this process beside PyTorch's allocator: CUDA context, kernels, NCCL"
    if one.others:
        yield f"{nbytes_text(one.elsewhere)} of {_processes(len(one.others))}"
    yield f"{nbytes_text(one.free or 0)} free"
    if one.unnamed >= ROUNDED:
        who = (
            "the driver and whatever is not named" if one.own is not None else "CUDA context, NCCL and other processes"
        )
        yield f"{nbytes_text(one.unnamed)} of {who}"
    elif -one.unnamed > MORE * (one.total or 0):
        yield f"which is {nbytes_text(-one.unnamed)} more than it has: as under MIG, or read at different moments"


def _processes(count: int) -> str:
    return "1 other process" if count == 1 else f"{count} other processes"


def _causes(one: OutOfMemory) -> Iterator[Cause]:
    """What would have been enough for this request; where nothing would, this process keeps too much."""
    if not one.whole:
        yield cause(
            "out of memory", "the message is cut off: with all of it this page says who holds the memory", accuses=False
        )
        return
    limited = list(_limit(one))
    enough = [*limited, *_huge(one), *_elsewhere(one), *_pieces(one)]
    accused = {found.name for found in enough if found.accuses}
    if accused == {"fragmentation"} and (one.allocated or 0) >= NEARLY * (one.total or 0):
        why = f"{nbytes_text(one.allocated or 0)} of {nbytes_text(one.total or 0)} are in tensors: the next request may fail all the same"
        full = cause("out of memory", why, accuses=(one.unallocated or 0) <= PIECES * one.reserved)
        enough = [full, *(found._replace(accuses=False) for found in enough)] if full.accuses else [*enough, full]
    yield from enough
    if accused:
        return
    if not one.short:
        why = "as much was free when the message was written: another process let go of it meanwhile, or a limit that CUDA does not tell"
        yield cause("other processes", why, accuses=one.elsewhere >= MANY * (one.total or 0) > 0)
        return
    yield cause("out of memory", _too_big(one))


def _limit(one: OutOfMemory) -> Iterator[Cause]:
    if one.allowed is None:
        return
    binds = one.reserved + one.asked >= FULL * one.allowed and not one.short
    why = f"this process may take {nbytes_text(one.allowed)} of the card and has {nbytes_text(one.reserved)} of them"
    yield cause("memory fraction", why, accuses=binds)


def _huge(one: OutOfMemory) -> Iterator[Cause]:
    if (share := one.asked / (one.total or 1)) < HUGE:
        return
    much = "more than the whole card has" if share > 1 else f"{share:.0%} of the whole card"
    why = (
        f"one request of {nbytes_text(one.asked)} is {much}: a tensor that grows with a square or a vocabulary (attention's scores,"
        f" logits), or a size that is wrong; in bf16 it has {one.asked / 2e9:.3g} thousand million numbers"
    )
    yield cause("huge request", why)


def _elsewhere(one: OutOfMemory) -> Iterator[Cause]:
    total = one.total or 0
    if not one.short:
        return
    if one.others and one.elsewhere >= max(one.short, MANY * total):
        largest = sorted(one.others, key=lambda process: -process[1])[:3]
        who = ", ".join(f"{pid} with {nbytes_text(nbytes)}" for pid, nbytes in largest)
        guess = "; this process is taken to be the one that holds what its allocator has" if one.guessed else ""
        yield cause(
            "other processes",
            f"{_processes(len(one.others))} on this GPU: {who}; without them it would have fitted{guess}",
        )
    elif one.unnamed >= max(one.short, UNNAMED * total):
        why = (
            f"{nbytes_text(one.unnamed)} are neither free nor PyTorch's nor of a process that is named: other processes, perhaps of"
            " another container or user, or libraries of this one that take memory past PyTorch"
        )
        yield cause("other processes", why)
    alike = [nbytes for _, nbytes in one.others if CONTEXTS[0] <= nbytes <= CONTEXTS[1]]
    if len(alike) >= RANKS and max(alike) <= 1.2 * min(alike):
        why = f"{len(alike)} processes hold about {nbytes_text(max(alike))} each: contexts of other ranks that chose no GPU of their own"
        yield cause("ranks on one GPU", why)


def _pieces(one: OutOfMemory) -> Iterator[Cause]:
    loose, enough = one.unallocated or 0, max(one.short, LOOSE * one.reserved)
    if not one.short or not loose or loose < min(enough, MUCH * one.reserved):
        return
    why = (
        f"{nbytes_text(loose)} are reserved and not allocated, and {nbytes_text(one.short)} were missing: they lie in pieces beside live"
        " tensors. Before it gave up, torch had returned every segment that was wholly free, so empty_cache() adds nothing"
    )
    found = cause("fragmentation", why)
    if loose < enough:
        found = cause("fragmentation", f"{why}; all of them together would not have been enough", accuses=False)
    yield found._replace(command=f"{one.knob}={'max_split_size_mb:128' if one.old else 'expandable_segments:True'}")


def _too_big(one: OutOfMemory) -> str:
    beside = f" and {nbytes_text(one.elsewhere)} of other processes" if one.others else ""
    return (
        f"{nbytes_text(one.short)} were missing, and {nbytes_text(one.unallocated or 0)} in pieces{beside} are nothing to count on: this"
        f" process itself keeps {nbytes_text(one.allocated or 0)} at that moment"
    )
