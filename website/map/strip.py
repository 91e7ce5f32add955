"""The strip under a title: the map, very small, with where this page is; what comes before and next. Its lab stands in the card."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from website.chapters import Chapter
from website.map.drawing import HIGH, RAILS, SHORE, WIDE, anchor, banks, rail
from website.map.places import Scale

Link = Callable[[str], str]


def strip(scales: tuple[Scale, ...], chapters: dict[str, Chapter], page: str, whole: str, link: Link) -> str:
    """The strip of a chapter or a lab as HTML, "" for a page that has no place. whole: the page that shows the map."""
    here = next((one for one in chapters.values() if page in (one.page, one.lab)), None)
    scale = next((one for one in scales if here and here.page in one.places), None)
    if not (here and scale):
        return ""
    order = list(chapters.values())
    i = order.index(here)
    last = max(one.number for one in order)
    number = f", {'lab' if page == here.lab else 'chapter'} {here.number} of {last}" if here.number else ""
    return (
        f'<nav class="bim-here" aria-label="Where this is"><a href="{escape(link(whole))}#{anchor(here.page)}" '
        f'aria-label="Map: {escape(scale.name)}{number}">{small(scales, here)}</a>'
        f"<p><span>{escape(scale.name)}{number}</span></p>"
        f"<p>{turn(order[i - 1], 'prev', link) if i else ''}{turn(order[i + 1], 'next', link) if i + 1 < len(order) else ''}</p></nav>"
    )


def turn(one: Chapter, way: str, link: Link) -> str:
    """The chapter before or after, by its name."""
    return f'<a class="bim-here-{way}" href="{escape(link(one.page))}" data-page="{one.page}"><span>{escape(one.name)}</span></a>'


def small(scales: tuple[Scale, ...], here: Chapter) -> str:
    """The map without its words: the river, the rails, a dot for every chapter."""
    dots = "".join(
        dot(page, x, rail(row), page == here.page) for one in scales for page, (x, row) in one.places.items()
    )
    rails = "".join(f"M{SHORE},{rail(row):g}H{WIDE - 8}" for row in range(RAILS))
    return (
        f'<svg viewBox="0 40 {WIDE} {HIGH - 40}" aria-hidden="true"><path class="bim-river" d="{banks()}"/>'
        f'<path class="bim-rails" d="{rails}"/>{dots}</svg>'
    )


def dot(page: str, x: float, y: float, here: bool) -> str:
    """A chapter's place; the one that the reader is at is larger."""
    look = 'class="bim-you" r="20"' if here else 'r="9"'
    return f'<circle {look} data-page="{page}" cx="{x:g}" cy="{y:g}"/>'
