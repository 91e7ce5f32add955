"""Tables whose rows and columns are devices, as AMD's tools, nvidia-smi and CUDA's samples print them. Chapter: interconnects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from helpers.nccl.output.tables.cleaned import Line
from helpers.nccl.output.tables.errors import MachineError


class Grid(NamedTuple):
    """title: the line above it. columns: as its head names them. rows: the cells by the row's own name, one a column."""

    title: str
    line: Line
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[str, ...]]

    def pairs(self) -> dict[tuple[str, str], str]:
        """The cells off the diagonal, by row and column."""
        found = {
            (row, name): cell
            for row, cells in self.rows.items()
            for name, cell in zip(self.columns, cells, strict=True)
        }
        return {pair: cell for pair, cell in found.items() if pair[0] != pair[1]}


def grid(lines: Sequence[Line], at: int, title: str, columns: Sequence[str], square: bool = True) -> Grid:
    """The rows from lines[at] on, below a head that names the columns; MachineError for one that is short, or that ends early.

    square: every column has a row of its name.
    """
    rows: dict[str, tuple[str, ...]] = {}
    for line in lines[at:]:
        name, *cells = line.text.split() or [""]
        if name not in columns or name in rows:
            break
        if len(cells) != len(columns):
            raise MachineError(f"a row of this table has {len(columns)} cells behind its name, got {len(cells)}", line)
        rows[name] = tuple(cells)
    lacking = [name for name in columns if name not in rows] if square else []
    if lacking or not rows:
        raise MachineError(f"the table below {title!r} has no row of {(lacking or list(columns))[0]}", lines[at - 1])
    return Grid(title, lines[at - 1], tuple(columns), rows)


def below(
    lines: Sequence[Line], title: Callable[[str], str | None], head: Callable[[str], Sequence[str]], square: bool = True
) -> list[Grid]:
    """Every table that stands below a line that `title` knows; head: the columns of the line behind it, blank lines passed over."""
    found = []
    for at, line in enumerate(lines):
        name = title(line.text)
        heads = (n for n in range(at + 1, min(at + 4, len(lines))) if lines[n].text.strip())
        start = next(heads, None) if name else None
        if name and start is not None and (columns := head(lines[start].text)):
            found.append(grid(lines, start + 1, name, columns, square))
    return found
