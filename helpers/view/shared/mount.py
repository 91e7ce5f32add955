"""The place in a saved output where the page puts a widget or a chart: data and a readable fallback, never code. Every chapter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from html import escape

from helpers.view import widgets as table

NUMBER = re.compile(r"[-−]?[\d,]+(?:\.\d+)?(?:e-?\d+)?")
BLANK = ("", "–")


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
