"""The exercises of the chapter `allocator`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from helpers.memory.allocator import Replay, Rules, program, replay
from helpers.units import MIB, nbytes_text

from .answer import Answer, NotYetError, judge

SIZES = (1, 512, 513, 100_000, MIB - 1, MIB, MIB + 1, 3 * MIB, 10 * MIB - 512, 10 * MIB, 21 * MIB + 5, 700 * MIB)
DEVICE = 100 * MIB  # of the second exercise
STRANDED = 60 * MIB  # what must be reserved and free there
ROOM = 62 * MIB  # of the third
ORDER = """t1 = 8.5 MiB
p1 = 1.5 MiB
t2 = 8.5 MiB
p2 = 1.5 MiB
t3 = 8.5 MiB
p3 = 1.5 MiB
t4 = 8.5 MiB
p4 = 1.5 MiB
del t1
del t2
del t3
del t4
big = 24 MiB"""


def first_request(answer: Callable[[int], tuple[int, int]]) -> Answer:
    """answer(nbytes): (block, segment) in bytes: what one tensor of nbytes takes and what it reserves, in a fresh process."""
    return judge(SIZES, lambda nbytes: _first(answer, nbytes), f"Block and segment of all {len(SIZES)} requests.")


def _first(answer: Callable[[int], tuple[int, int]], nbytes: int) -> None:
    made, got = replay(program(f"a = {nbytes}")), answer(nbytes)
    want = made.peak_allocated, made.peak_reserved
    if not (isinstance(got, (tuple, list)) and len(got) == 2):
        raise NotYetError(
            f"For {nbytes:,} byte{'s' * (nbytes != 1)}: expected two numbers of bytes, block and segment, got {got!r}."
        )
    for name, mine, right in zip(("the block", "the segment"), got, want, strict=True):
        if mine != right:
            raise NotYetError(
                f"For {nbytes:,} byte{'s' * (nbytes != 1)} {name} has {right:,} bytes, you said {mine!r}."
                f" Hint: {_hint(nbytes, name, right)}"
            )


def _hint(nbytes: int, name: str, right: int) -> str:
    if name == "the block" and right == Rules().round_size(nbytes):
        return "every request is rounded up to a multiple of 512 bytes."
    if name == "the block":
        return "is what is left over worth cutting off? In the large pool only more than 1 MiB is."
    if nbytes <= MIB:
        return "the small pool takes 2 MiB at a time."
    return "between 1 and 10 MiB it is 20 MiB; from 10 MiB on, the size rounded up to 2 MiB."


def strand(text: str) -> Answer:
    """text: a program that runs out of memory on 100 MiB although 60 MiB and more are reserved and free, for a tensor smaller than that."""
    return judge([text], _strand, "Out of memory, with more memory free than was asked for.")


def _strand(text: str) -> None:
    made = _replayed(text, DEVICE)
    if made.oom is None:
        peak = nbytes_text(made.peak_reserved)
        raise NotYetError(f"Your program ends well, with {peak} reserved at most of {nbytes_text(DEVICE)}.")
    free, wanted = made.oom.unallocated, made.oom.requested
    if free < STRANDED:
        raise NotYetError(
            f"It runs out of memory with {nbytes_text(free)} reserved and free, not {nbytes_text(STRANDED)}."
            " Hint: leave one small tensor alive in each segment."
        )
    if wanted >= free:
        raise NotYetError(
            f"The last tensor has {nbytes_text(wanted)}: more than the {nbytes_text(free)} that are free."
        )


def reorder(text: str) -> Answer:
    """text: the lines of ORDER, each once, in an order in which the program fits into 62 MiB; a tensor is made before it is freed."""
    return judge([text], _reorder, "The same tensors, and they fit.")


def _reorder(text: str) -> None:
    if not isinstance(text, str):
        raise NotYetError(f"Expected a program, lines of text, got {text!r}.")
    mine, theirs = Counter(_lines(text)), Counter(_lines(ORDER))
    if mine != theirs:
        line = next(iter((mine - theirs) or (theirs - mine)))
        how = "new" if mine[line] > theirs[line] else "missing"
        raise NotYetError(f"The lines must stay the same, only their order may change: {line!r} is {how}.")
    lines = _lines(text)
    freed = [i for i, line in enumerate(lines) if line.startswith("del")]
    if next(i for i, line in enumerate(lines) if line.startswith("big")) < max(freed):
        raise NotYetError("big is made when the four t are gone: its line comes after theirs.")
    if max(i for i, line in enumerate(lines) if line.startswith("t")) > min(freed):
        raise NotYetError("All four t are alive at once, as activations are: none is freed before the last is made.")
    if (oom := _replayed(text, ROOM).oom) is not None:
        raise NotYetError(
            f"It still runs out of memory, with {nbytes_text(oom.unallocated)} reserved and free,"
            f" the largest block {nbytes_text(oom.largest_free)}. Hint: which tensors outlive the others? Where do they stand?"
        )


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.replace(";", "\n").splitlines() if line.strip()]


def _replayed(text: str, limit: int) -> Replay:
    if not isinstance(text, str):
        raise NotYetError(f"Expected a program, lines of text, got {text!r}.")
    return replay(program(text), limit=limit, raises=False)
