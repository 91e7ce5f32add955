"""The pinned requirements, as pip wants them."""

from __future__ import annotations

import re
from collections.abc import Iterable

# With newest=True these stay: torch's build is a choice of its own, and the book's generation is held on purpose.
HELD = ("torch", "jupyter-book", "Sphinx", "sphinx-book-theme", "pydata-sphinx-theme", "myst-nb", "myst-parser")


def read(texts: Iterable[str], keep_torch: bool = False, newest: bool = False) -> list[str]:
    """The requirements in the files' `texts`, without notes, nested files and the package itself.

    `keep_torch` leaves torch out; `newest` turns the pins into floors, except HELD (the weekly run).
    """
    lines = [line.split(" #")[0].strip() for text in texts for line in text.splitlines()]
    found = [line for line in lines if line and not line.startswith(("#", "-"))]
    found = [line for line in found if not (keep_torch and name(line) == "torch")]
    return [line.replace("==", ">=") if newest and name(line) not in HELD else line for line in found]


def name(requirement: str) -> str:
    """The package's name: "torch" of "torch==2.13.0"."""
    return re.match(r"[\w.-]*", requirement)[0]
