"""The pages of a book's table of contents in their order, and each as a PDF of its own, printed by Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

A4_TEXT = 658  # pixels between the margins: widgets are laid out for that width from the start
SHARP = 3  # canvases in three times the pixels of a screen
PATIENCE_MS = 120_000
SHEET = """
@page {{ size: A4; margin: 14mm 18mm 16mm;
  @bottom-left {{ content: "{title}"; font: 8pt sans-serif; color: #555; }}
  @bottom-right {{ content: counter(page); font: 8pt sans-serif; color: #555; }} }}
html {{ counter-reset: page {before}; }}
"""
DRAW = """async () => {
    const drawn = await BytesInMotion.all();
    const failed = drawn.filter(({ status }) => status === "rejected");
    if (failed.length) throw failed[0].reason;
    await document.fonts.ready;
    for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
}"""
# Chromium keeps a place in the file for each id that something on the page links to: other chapters link here, too.
PLACES = """() => {
    const links = [...document.querySelectorAll("main [id]")].map(({ id }) => {
        const link = document.createElement("a");
        link.href = `#${encodeURIComponent(id)}`;
        return link;
    });
    document.body.append(...links);
}"""
TITLES = """() => {
    const told = (node) => !node.matches?.(".headerlink, .katex-mathml");
    const text = (node) => [...node.childNodes].filter(told).map((one) => one.textContent).join("");
    const heads = [...document.querySelectorAll("main section[id] > h2")];
    return [text(document.querySelector("main h1")), heads.map((head) => [head.parentElement.id, text(head)])];
}"""


@dataclass(frozen=True)
class Leaf:
    """A page of the table of contents. name: "book/ring"; part: the caption above it, "" above the first; depth: 1 for a lab."""

    name: str
    part: str = ""
    depth: int = 0


@dataclass(frozen=True)
class Printed:
    """A page as a PDF. sections: (id, heading) of its second level, in order."""

    leaf: Leaf
    title: str
    pdf: bytes
    sections: list[tuple[str, str]] = field(default_factory=list)


def leaves(book: Path) -> list[Leaf]:
    """Every page that the book's _toc.yml names, in order. FileNotFoundError where there is none."""
    toc = yaml.safe_load((book / "_toc.yml").read_text(encoding="utf-8"))
    parts = toc.get("parts", [{"chapters": toc.get("chapters", [])}])
    return [Leaf(toc["root"]), *(leaf for part in parts for leaf in below(part, part.get("caption", ""), 0))]


def below(entry: dict, part: str, depth: int) -> Iterator[Leaf]:
    """The pages under an entry of the table of contents, each before its own sections."""
    for one in entry.get("chapters", entry.get("sections", [])):
        yield Leaf(one["file"], part, depth)
        yield from below(one, part, depth + 1)


def printed(browser: Browser, home: str, pages: list[Leaf], count) -> Iterator[Printed]:
    """Each page in turn, its sheets numbered on from the last one's; count(pdf): how many sheets a PDF has."""
    context = browser.new_context(
        viewport={"width": A4_TEXT, "height": 900},
        device_scale_factor=SHARP,
        color_scheme="light",
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE_MS)
    before = 0
    with context:
        for leaf in pages:
            page = context.new_page()
            one = print_page(page, home, leaf, before)
            page.close()
            before += count(one.pdf)
            yield one


def print_page(page: Page, home: str, leaf: Leaf, before: int) -> Printed:
    """One page, everything on it drawn for paper; `before`: how many sheets come before it."""
    page.emulate_media(media="print")
    page.goto(f"{home}/{leaf.name}.html")
    page.evaluate(DRAW)
    page.evaluate(PLACES)
    title, sections = page.evaluate(TITLES)
    said = title.replace("\\", "\\\\").replace('"', '\\"')
    page.add_style_tag(content=SHEET.format(title=said, before=before))
    pdf = page.pdf(prefer_css_page_size=True, print_background=True)
    return Printed(leaf, title, pdf, [(ident, text) for ident, text in sections])
