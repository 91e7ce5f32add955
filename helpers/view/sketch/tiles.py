"""The sketch `tiles`: a matrix product made of small ones, one tile of the result step by step. Chapter: execution-model."""

from __future__ import annotations

from collections.abc import Callable

from helpers.units import nbytes_text
from helpers.view.shared.mount import positive
from helpers.view.sketch.svg import Moment, Sketch, group, label, line, rect

MANY = 4  # tiles to a side
TILE, SEAM = 26, 2  # pixels: of a tile, and between two
SIDE = MANY * TILE
LEFT, RIGHT, TOP, LOW = 50, 194, 22, 148  # pixels: where A, then B and C begin; where B, then A and C begin
ROW, COLUMN = 1, 2  # of the tile of C that is followed
BYTES = 2  # of a number in bf16


def tiles(what: str) -> Sketch:
    """what: how many numbers wide a tile is. ValueError for what is no whole number from 1."""
    t = positive(what)
    body = (
        *_matrix("A", LEFT, LOW, lambda row, column: column if row == ROW else None),
        *_matrix("B", RIGHT, TOP, lambda row, column: row if column == COLUMN else None),
        *_matrix("C", RIGHT, LOW, lambda row, column: None),
        _sum(),
        *_guides(),
        label("bim-label bim-middle", LEFT + SIDE / 2, LOW + SIDE + 16, "a row of tiles"),
        label("bim-label bim-middle", RIGHT + SIDE / 2, TOP - 8, "a column of tiles"),
        label("bim-label bim-middle", RIGHT + SIDE / 2, LOW + SIDE + 16, "one tile of the result"),
    )
    moments = tuple(Moment(step * TILE, said(t, step)) for step in range(MANY))
    told = f"Tiles of {t} by {t} numbers in bf16. {moments[0].said} So {MANY} times; then the tile of C is whole."
    title = "One tile of C = A B, from a row of tiles of A and a column of tiles of B"
    return Sketch(title, told, LOW + SIDE + 22, "".join(body), moments, MANY - 1, "Step")


def said(t: int, step: int) -> str:
    """One step: what comes near, and what is done with it."""
    moved, flops = 2 * BYTES * t * t, 2 * t**3
    return (
        f"Step {step + 1} of {MANY}: one tile of A and one of B come near, {nbytes_text(moved)} in all. With them {flops:,} FLOP are done, "
        f"{flops / moved:g} for each byte, and added to the tile of C."
    )


def _matrix(name: str, x: float, y: float, step_of: Callable[[int, int], int | None]) -> list[str]:
    """Its tiles; those of the followed row or column are filled from their step on."""
    found = [label("bim-size bim-end", x - 8, y + SIDE / 2 + 4, name, 14)]
    for row in range(MANY):
        for column in range(MANY):
            place = (x + column * TILE, y + row * TILE, TILE - SEAM, TILE - SEAM, 3)
            found.append(rect("bim-frame", *place))
            if (step := step_of(row, column)) is not None:
                found.append(rect("bim-holds", *place, since=step))
    return found


def _sum() -> str:
    """The followed tile of C: a bar for each product that has been added to it."""
    x, y, each = RIGHT + COLUMN * TILE, LOW + ROW * TILE, (TILE - SEAM - 4) / MANY
    bars = (
        rect("bim-holds", x + 2, y + 2 + step * each, TILE - SEAM - 4, each - 1, 1, since=step) for step in range(MANY)
    )
    return group("", rect("bim-chosen", x, y, TILE - SEAM, TILE - SEAM, 3), *bars)


def _guides() -> tuple[str, str]:
    """From the row of A and the column of B to the tile."""
    y, x = LOW + ROW * TILE + (TILE - SEAM) / 2, RIGHT + COLUMN * TILE + (TILE - SEAM) / 2
    across = line("bim-guide", (LEFT + SIDE + 2, y), (RIGHT + COLUMN * TILE - 3, y))
    down = line("bim-guide", (x, TOP + SIDE + 2), (x, LOW + ROW * TILE - 3))
    return across, down
