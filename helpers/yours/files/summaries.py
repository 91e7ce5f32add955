"""The verdict on torch.cuda.memory_summary(): the same questions as of a snapshot, of sums instead of blocks. Chapter: yours."""

from __future__ import annotations

import re
from typing import NamedTuple

from helpers.nccl.output.tables.errors import NoTable
from helpers.units import nbytes_text
from helpers.yours.causes import cause
from helpers.yours.files.snapshots import LEAST, LOOSE
from helpers.yours.verdict import Cause, Verdict

SIGN = re.compile(r"PyTorch \w+ memory summary, device ID (\d{1,4})", re.ASCII)
ROWS = ("Allocated memory", "GPU reserved memory", "Non-releasable memory")  # the last: free beside live blocks
_SIZE = r"[ \t]*(\d{1,15})[ \t]*([KMGTP]?)i?B?[ \t]*"
_ROW = re.compile(rf"\|[ \t]*({'|'.join(ROWS)})[ \t]*\|{_SIZE}\|{_SIZE}\|", re.ASCII)
_OOMS = re.compile(r"OOMs: (\d{1,9})", re.ASCII)


class Summary(NamedTuple):
    """One GPU's. allocated, reserved, holes: (now, at most) in bytes. ooms: how often a request found no memory."""

    device: int
    allocated: tuple[int, int]
    reserved: tuple[int, int]
    holes: tuple[int, int]
    ooms: int


def of_summary(text: str) -> Verdict:
    """Of the GPU that ran out of memory, else of that with the most reserved. NoTable where rows are missing."""
    heads = list(SIGN.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    found = [
        one for head, end in zip(heads, ends, strict=True) if (one := _summary(int(head[1]), text[head.end() : end]))
    ]
    if not found:
        raise NoTable(f"a memory summary of PyTorch without its rows: expected {', '.join(ROWS)}")
    first = max(found, key=lambda one: (one.ooms > 0, one.reserved[0], -one.device))
    names = ("reserved", "in use", "in holes beside live blocks")
    now = zip((first.reserved, first.allocated, first.holes), names, strict=True)
    parts = [f"{nbytes_text(size)} {name} (at most {nbytes_text(most)})" for (size, most), name in now]
    times = f" {first.ooms} {'request' if first.ooms == 1 else 'requests'} found no memory." if first.ooms else ""
    what = f"a memory summary of PyTorch, GPU {first.device}"
    return Verdict("snapshot", what, f"{', '.join(parts)}.{times}", causes=_causes(first))


def _summary(device: int, text: str) -> Summary | None:
    rows = {row[1]: (_bytes(row[2], row[3]), _bytes(row[4], row[5])) for row in reversed(list(_ROW.finditer(text)))}
    if len(rows) < len(ROWS):
        return None
    ooms = _OOMS.search(text)
    allocated, reserved, holes = (rows[name] for name in ROWS)
    return Summary(device, allocated, reserved, holes, int(ooms[1]) if ooms else 0)


def _bytes(number: str, unit: str) -> int:
    return int(number) << 10 * " KMGTP".index(unit or " ")


def _causes(one: Summary) -> tuple[Cause, ...]:
    holes, reserved = one.holes[0], one.reserved[0]
    if holes >= max(LEAST, LOOSE * reserved):
        why = f"{nbytes_text(holes)} of {nbytes_text(reserved)} are reserved and free, in pieces beside live blocks that cannot go back"
        return (cause("fragmentation", why),)
    if not one.ooms:
        return ()
    pieces = f"pieces beside live blocks, {nbytes_text(holes)} now, are not what was lacking"
    return (cause("out of memory", f"at most {nbytes_text(one.allocated[1])} were in use, and {pieces}"),)
