"""The sketch `triangle`: who computes which part of causal attention, and at which step of the ring. Chapter: context.

A row is a chunk of queries, a column a chunk of keys. A cell has the colour of the rank that computes it, and the number of the step at
which its keys are there; a bar beside it says how many cells a rank has in all, those on the diagonal half.
"""

from __future__ import annotations

from fractions import Fraction

from helpers.context import chunks
from helpers.view.shared.words import counted
from helpers.view.sketch.svg import WIDTH, Moment, Sketch, badge, element, group, label, mark, rect

MOST = 4  # ranks whose chunks have room beside each other
ORDERS = ("plain", "zigzag")
CELL, LEFT, TOP = 22, 24, 30  # pixels: of a chunk, of the names of queries, of those of keys
BARS = 8  # pixels between the triangle and the bars


def triangle(what: str, nranks: int = 4) -> Sketch:
    """what: an order of tokens, "plain" or "zigzag". ValueError for another, or for more ranks than there is room for."""
    if what not in ORDERS:
        raise ValueError(f"a triangle shows one of {', '.join(ORDERS)}, got {what!r}")
    if nranks > MOST:
        raise ValueError(f"there is room for {MOST} ranks, got {nranks}")
    owner = owners(what, nranks)
    cells = (
        _cell(query, key, owner[query], (owner[query] - owner[key]) % nranks)
        for query in range(2 * nranks)
        for key in range(query + 1)
    )
    names = (label("bim-label bim-middle", LEFT + (i + 0.5) * CELL, TOP - 5, i, 11) for i in range(2 * nranks))
    rows = (badge(owner[i], 11, TOP + (i + 0.5) * CELL, 18) for i in range(2 * nranks))
    foot = TOP + 2 * nranks * CELL
    heads = label("bim-label", LEFT, 12, "keys: chunks 0 to " + str(2 * nranks - 1))
    moments = tuple(Moment(0.0, said(owner, nranks, step)) for step in range(nranks))
    title = f"Causal attention on {nranks} ranks, {what}"
    told = " ".join(moment.said for moment in moments) + f" In all: {_in_all(owner, nranks)}."
    body = "".join((heads, *names, *rows, *cells, _bars(owner, nranks)))
    return Sketch(title, told, foot + 8, body, moments, nranks - 1, "Step of the ring")


def owners(order: str, nranks: int) -> list[int]:
    """Of each of 2P chunks the rank that has it."""
    found = {}
    for rank in range(nranks):
        for part in chunks(order, 2 * nranks, nranks, rank):
            found |= dict.fromkeys(part, rank)
    return [found[i] for i in range(2 * nranks)]


def amounts(owner: list[int], nranks: int, step: int | None = None) -> list[Fraction]:
    """Cells of each rank, at one step or at all; half a cell on the diagonal."""
    found = [Fraction(0)] * nranks
    for query, rank in enumerate(owner):
        for key in range(query + 1):
            if step in (None, (rank - owner[key]) % nranks):
                found[rank] += Fraction(1, 2) if key == query else 1
    return found


def said(owner: list[int], nranks: int, step: int) -> str:
    """What a reader is told of a step."""
    many = amounts(owner, nranks, step)
    if len(set(many)) == 1:
        return f"Step {step}: every rank computes {counted(_plain(many[0]), 'cell')}."
    each = ", ".join(f"rank {rank} {_plain(n) or 'none'}" for rank, n in enumerate(many))
    return f"Step {step}, cells of each rank: {each}."


def _in_all(owner: list[int], nranks: int) -> str:
    return ", ".join(f"rank {rank} {_plain(n)}" for rank, n in enumerate(amounts(owner, nranks)))


def _plain(n: Fraction) -> int | float:
    return int(n) if n.denominator == 1 else float(n)


def _cell(query: int, key: int, rank: int, step: int) -> str:
    x, y = LEFT + key * CELL, TOP + query * CELL
    kinds = f"bim-badge bim-r{rank} {mark(f'rank {rank}')}"
    if key == query:
        half = element("path", {"class": "bim-rank", "d": f"M{x} {y + 1}v{CELL - 2}h{CELL - 2}z"})
        return group(kinds, half, label("", x + 7, y + CELL - 7, step, 11), since=step)
    square = rect("bim-rank", x, y + 1, CELL - 2, CELL - 2, 3)
    return group(kinds, square, label("", x + CELL / 2 - 1, y + CELL / 2, step, 11), since=step)


def _bars(owner: list[int], nranks: int) -> str:
    """What each rank has in all, to the right of the triangle's empty half."""
    left, most = LEFT + 2 * nranks * CELL + BARS, max(amounts(owner, nranks))
    room = WIDTH - left - 26
    found = [label("bim-label", left, 12, "cells in all")]
    for rank, n in enumerate(amounts(owner, nranks)):
        y, long = TOP + (2 * rank + 0.5) * CELL, room * float(n / most)
        bar = rect("bim-rank", left, y, long, CELL, 3)
        found.append(group(f"bim-badge bim-r{rank} {mark(f'rank {rank}')}", bar))
        found.append(label("bim-size", left + long + 4, y + CELL / 2 + 4, _plain(n)))
    return "".join(found)
