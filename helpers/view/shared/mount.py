"""From a directive to its place on the page: its options' words as values, a widget's state as plain data, and the mount.

The mount is where the page puts a widget or a chart: data and a readable fallback, never code. Every chapter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import Self

from helpers.view import widgets as table

NUMBER = re.compile(r"[-−]?[\d,]+(?:\.\d+)?(?:e-?\d+)?")
BLANK = ("", "–")


# options: each function turns the written words into a value, or raises ValueError ----------------------------------------
def whole(words: str | None) -> int:
    """A whole number from 0."""
    try:
        value = int(words or "")
    except ValueError:
        raise ValueError(f"expected a whole number, got {words!r}") from None
    if value < 0:
        raise ValueError(f"expected a whole number from 0, got {value}")
    return value


def positive(words: str | None) -> int:
    """A whole number from 1."""
    if (value := whole(words)) == 0:
        raise ValueError("expected a whole number from 1, got 0")
    return value


def text(words: str | None) -> str:
    """Words, at least one."""
    if not words or not words.strip():
        raise ValueError("expected a value, got nothing")
    return words.strip()


def flag(words: str | None) -> bool:
    """An option without a value: True where it stands."""
    if words and words.strip():
        raise ValueError(f"expected no value, got {words!r}")
    return True


# state --------------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Spec:
    """A subclass has a field for every name that the page knows, in the page's order; a field holds plain data or another Spec."""

    def left_out(self) -> Collection[str]:
        """The fields that the page is not given."""
        return ()

    def as_json(self) -> dict:
        """{name: value} as the page takes it."""
        gone = self.left_out()
        told = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in gone}
        return {name: value.as_json() if isinstance(value, Spec) else value for name, value in told.items()}

    @classmethod
    def read(cls, data: Mapping[str, object]) -> Self:
        """The spec that a page sends, unchecked; what it holds beside the fields is not looked at. TypeError where one is missing."""
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in data.items() if name in names})


# mount --------------------------------------------------------------------------------------------------------------------
def mount(kind: str, spec: dict, fallback_html: str) -> str:
    """The mount element: `spec` (JSON) in an escaped data- attribute, `fallback_html` inside for readers without JavaScript.

    The same spec always gives the same text, so saved outputs compare. ValueError on an unknown kind or a script in the fallback.
    """
    if kind not in (kinds := table.kinds()):
        raise ValueError(f"kind must be one of {', '.join(kinds)}, got {kind!r}")
    if "<script" in fallback_html.lower():
        raise ValueError("a fallback holds text and tables, never a <script>")
    data = escape(json.dumps(spec, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False))
    return f'<div class="bim-mount" data-kind="{kind}" data-spec="{data}">\n{fallback_html}\n</div>'


def fallback(sentence: str, header: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """One sentence and one table, as HTML, everything escaped; behind the first column, numbers stand on the right under their header."""
    cells = [[str(cell) for cell in row] for row in rows]
    kinds = [
        "bim-fallback",
        *(f"bim-n{i}" for i, own in enumerate(zip(*cells, strict=True), 1) if i > 1 and _numbers(own)),
    ]
    head = "".join(f'<th scope="col">{escape(str(cell))}</th>' for cell in header)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f"<p>{escape(sentence)}</p>\n"
        f'<table class="{" ".join(kinds)}">{title}<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>'
    )


def _numbers(column: Sequence[str]) -> bool:
    """Whether a column holds numbers, and nothing else but gaps."""
    kept = [cell for cell in column if cell not in BLANK]
    return bool(kept) and all(NUMBER.fullmatch(cell) for cell in kept)
