"""The place in a saved output where the page puts a widget or a chart: data and a readable fallback, never code. Every chapter."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape

from helpers.view import widgets as table


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
    """One sentence and one table, as HTML, everything escaped."""
    head = "".join(f'<th scope="col">{escape(str(cell))}</th>' for cell in header)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f"<p>{escape(sentence)}</p>\n"
        f'<table class="bim-fallback">{title}<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>'
    )
