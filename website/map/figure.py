"""The map on a page: what plays on it, the drawing in a box that pans and zooms, a line on its widths, and the same places as a list."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from website.chapters import Chapter
from website.map.drawing import drawing
from website.map.places import Scale
from website.map.run import bar

WIDTHS = "To scale: an H100's bandwidth at each place; of memory, reads and writes together."
BUTTONS = (("in", "+", "Zoom in"), ("out", "−", "Zoom out"), ("whole", "All", "All of the map"))


def figure(scales: tuple[Scale, ...], chapters: dict[str, Chapter], link: Callable[[str], str]) -> str:
    """The whole map as HTML. chapters: by page, in the book's order. link: a page's address."""
    buttons = "".join(
        f'<button type="button" data-zoom="{what}" aria-label="{said}">{sign}</button>' for what, sign, said in BUTTONS
    )
    return (
        f'<figure class="bim-map" id="map">{bar()}<div class="bim-sideways bim-map-view">{drawing(scales, chapters, link)}</div>'
        f'<figcaption>{WIDTHS}</figcaption><span class="bim-map-zoom">{buttons}</span>'
        f"<details><summary>As a list</summary><ul>{''.join(line(one, chapters, link) for one in scales)}</ul>"
        "</details></figure>"
    )


def line(scale: Scale, chapters: dict[str, Chapter], link: Callable[[str], str]) -> str:
    """A scale and its chapters, each with its lab."""
    names = (
        f'<a href="{escape(link(page))}">{escape(chapters[page].name)}</a>'
        + (f' (<a href="{escape(link(lab))}" aria-label="Lab: {escape(chapters[page].name)}">lab</a>)' if lab else "")
        for page in scale.places
        if page in chapters
        for lab in [chapters[page].lab]
    )
    return f"<li>{escape(scale.name)}: {', '.join(names)}.</li>"
