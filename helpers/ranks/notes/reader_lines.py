"""Which lines are the reader's own, and what to call them: "cell line 7", "ring.py line 12". Chapters: ranks, hangs."""

from __future__ import annotations

import os
import sysconfig
from functools import cache, lru_cache
from pathlib import Path
from types import FrameType

_NOT_OURS = tuple(
    {
        *(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        str(Path(__file__).resolve().parents[2]),
        "<frozen",
    }
)
_CALLED = str(Path(__file__).resolve().parents[1] / "worker" / "life.py")
_INSTALLED = tuple(f"{os.sep}{folder}{os.sep}" for folder in ("site-packages", "dist-packages"))  # of any environment


@cache
def own(filename: str) -> bool:
    """True for code the reader wrote: not Python's, not an installed package's, not this library's."""
    return not filename.startswith(_NOT_OURS) and not any(folder in filename for folder in _INSTALLED)


@cache
def place(filename: str) -> str:
    """ "cell" for a notebook cell, whose file name holds a process id, else the file's last name."""
    in_cell = "ipykernel_" in filename or filename.startswith("<ipython-input")
    return "cell" if in_cell else Path(filename).name


@lru_cache(1024)
def _line(filename: str, number: int) -> str | None:
    """ "" where it is not the reader's own, None where nothing further out is: there a rank was called."""
    return None if filename == _CALLED else f"{place(filename)} line {number}" if own(filename) else ""


def caller(frame: FrameType | None) -> str:
    """The nearest line of the reader's own at or above `frame`, "" when there is none."""
    found: str | None = ""
    while frame is not None and found == "":
        found = _line(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return found or ""


def ranks_text(ranks: list[int] | tuple[int, ...], most: int | None = None) -> str:
    """[0, 1, 2, 5] -> "ranks 0-2, 5"; [3] -> "rank 3". most: runs that are written out, then "and 7 more"."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and runs[-1][-1] == rank - 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    rest = 0 if most is None else sum(map(len, runs[most:]))
    texts = (f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs[:most])
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(texts)}{f' and {rest} more' * bool(rest)}"
