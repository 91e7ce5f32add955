"""Schedules as scripts carry them: transfers of one way whose chunks lie equally far apart become one, "first..last/apart:src⇒dst".

The shim unpacks what a widget asks for, so that widgets see the text that Python prints.
"""

import re
from collections.abc import Iterator
from itertools import groupby

PACKED = re.compile(r"(\d+)\.\.(\d+)/(\d+)(:\S+)")


def packed(text: str) -> str:
    """A schedule's text, runs of at least three chunks as one."""
    return "\n".join(" ".join(_runs(line.split(" "))) if ":" in line else line for line in text.split("\n"))


def unpacked(text: str) -> str:
    """The text that was packed: what the shim does."""

    def chunks(found: re.Match) -> str:
        first, last, apart = map(int, found.groups()[:3])
        return " ".join(f"{chunk}{found[4]}" for chunk in range(first, last + 1, apart))

    return PACKED.sub(chunks, text)


def _runs(transfers: list[str]) -> Iterator[str]:
    for way, group in groupby(transfers, key=lambda transfer: transfer.partition(":")[2]):
        chunks = [int(transfer.partition(":")[0]) for transfer in group]
        while chunks:
            n = _equally_far(chunks)
            many = f"..{chunks[n - 1]}/{chunks[1] - chunks[0]}" if n > 1 else ""
            yield f"{chunks[0]}{many}:{way}"
            chunks = chunks[n:]


def _equally_far(chunks: list[int]) -> int:
    """How many of the first chunks rise by the same number; 1 where fewer than three do."""
    apart = chunks[1] - chunks[0] if len(chunks) > 1 else 0
    n = next((i for i in range(1, len(chunks)) if chunks[i] - chunks[i - 1] != apart), len(chunks))
    return n if apart > 0 and n > 2 else 1
