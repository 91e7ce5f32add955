"""The warnings and errors of NCCL that are known here, from warnings.toml, and which of them a line is. Chapter: yours."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

from helpers.plain_file import text_of


class Known(NamedTuple):
    """A table of warnings.toml, whose head says what each word means. `with` is `filled`."""

    name: str
    pattern: str
    format: str
    versions: str
    why: str
    check: str
    cure: str
    thread: str
    repair: str
    chapter: str
    filled: tuple[str | int, ...] = ()
    place: str = ""
    follows: bool = False
    mild: bool = False
    common: bool = False

    @property
    def example(self) -> str:
        """A line as NCCL prints it, without what stands before it."""
        parts = re.split(r"%(?:l[dx]|[dupxs])", self.format)
        return "".join(chain.from_iterable(zip_longest(parts, map(str, self.filled), fillvalue="")))


def _read() -> tuple[Known, ...]:
    tables = tomllib.loads(text_of(Path(__file__).with_name("warnings.toml")))["warning"]
    return tuple(Known(filled=tuple(table.pop("with", ())), **table) for table in tables)


KNOWN = _read()


@cache
def patterns() -> tuple[tuple[re.Pattern[str], Known], ...]:
    """Compiled when the first line asks."""
    return tuple((re.compile(one.pattern), one) for one in KNOWN)


def which(text: str, named: bool = True) -> Known | None:
    """The first that the line fits. named: the line is NCCL's, or names it."""
    return next((one for pattern, one in patterns() if (named or not one.common) and pattern.search(text)), None)
