"""The book in one file: every chapter's text, every figure, links that stay inside, an outline, sheets numbered through."""

import io
import itertools
import re
import unicodedata

import pytest
from books import ROOT, SAMPLE, pages_of_toc
from pypdf import PdfReader

from tools.pdf.chapters import PATIENCE_MS, leaves, print_page
from tools.pdf.joining import count, joined

# What a reader must find again: the beginnings and ends of texts without formulas, and every word of the figures.
TOLD = """() => {
    dispatchEvent(new Event("beforeprint"));
    const lines = (node) => (node.localName === "pre" ? node.innerText.split("\\n") : [node.innerText]);
    const texts = [...document.querySelectorAll("main :is(h1, h2, h3, p, li, pre)")]
        .filter((one) => one.checkVisibility() && !one.closest(".bim-mount, .katex") && !one.querySelector(".katex, p, li, pre, sup"));
    const within = (one, mount) => {
        const [{ x, width }, edge] = [one.getBoundingClientRect(), mount.getBoundingClientRect()];
        return width > 0 && x + width / 2 > edge.left && x + width / 2 < edge.right;
    };
    const seen = { visibilityProperty: true, opacityProperty: true };
    const ends = (one) => !one.children.length || one.matches(".bim-key > *"); // a line's sign stands before its name
    const leaf = (one) => one.checkVisibility(seen) && ends(one) && !one.closest(".bim-sr, option, pre");
    const mounts = [...document.querySelectorAll(".bim-mount, .bim-drawn")].map((mount) => ({
        kind: mount.dataset.kind ?? "",
        high: mount.getBoundingClientRect().height,
        drawn: [...mount.querySelectorAll("svg, canvas, .bim-box, .bim-calc-bar")].filter((one) => one.checkVisibility()).length,
        words: [...mount.querySelectorAll("*")].filter((one) => leaf(one) && within(one, mount)).map((one) => one.textContent.trim())
            .filter((text) => text.length > 1),
    }));
    dispatchEvent(new Event("afterprint"));
    return { texts: texts.flatMap(lines).map((text) => text.trim()).filter((text) => text.length > 3), mounts };
}"""
SHEET = 1009  # pixels of A4 between its margins: what is higher goes over two
MOUNTS = re.compile(r'class="bim-(?:mount" data-kind="(\w+)|drawn)"')  # "" for a sketch


def bare(text: str) -> str:
    """Letters only: where lines and words end is the file's own, and of two apostrophes of one shape it keeps either."""
    return re.sub(r"[\s\u00ad\u200b\u2019\u02bc]+", "", unicodedata.normalize("NFKC", text))


def print_all(browser, home, book):
    """(chapters, what each told of its texts and figures)."""
    chapters, told, before = [], [], 0
    for leaf in leaves(book):
        page = browser.new_page(viewport={"width": 658, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        chapters.append(print_page(page, home, leaf, before))
        told.append(page.evaluate(TOLD))
        page.close()
        before += count(chapters[-1].pdf)
    return chapters, told


def titles(items) -> list:
    """The outline as nested lists of titles."""
    return [titles(item) if isinstance(item, list) else item.title for item in items]


def file_of(chapters, home) -> PdfReader:
    """All chapters in one file, read again; nothing in it names the place where it was made."""
    stream = io.BytesIO()
    joined(chapters, home).write(stream)
    assert home.encode() not in stream.getvalue()
    return PdfReader(stream)


@pytest.fixture(scope="module")
def small(browser, sample_address):
    """The sample book: chapters, what they told, the file."""
    chapters, told = print_all(browser, sample_address, SAMPLE)
    return chapters, told, file_of(chapters, sample_address)


@pytest.mark.matrix("the sample book as a PDF")
def test_a_book_in_one_file_has_every_text_figure_and_number(small, sample):
    assert_whole(*small, SAMPLE, sample)


@pytest.mark.matrix("the whole book as a PDF")
def test_the_book_in_one_file_has_every_text_figure_and_number(browser, site, site_address):
    chapters, told = print_all(browser, site_address, ROOT)
    whole = file_of(chapters, site_address)
    assert_whole(chapters, told, whole, ROOT, site)
    assert_links_stay_inside(whole)


def test_links_of_the_file_stay_inside_or_lead_to_the_web(small):
    assert_links_stay_inside(small[2])


def assert_whole(chapters, told, whole, source, built) -> None:
    assert [f"{one.leaf.name}.html" for one in chapters] == pages_of_toc(source)
    start = 0
    for one, said in zip(chapters, told, strict=True):
        sheets = whole.pages[start : start + count(one.pdf)]
        texts = [bare(sheet.extract_text()) for sheet in sheets]
        edges = [bare(f"{start + i}{one.title}") for i in range(1, len(texts) + 1)]
        assert all(map(str.startswith, texts, edges)), "each sheet has its number and its chapter's title"
        start += len(sheets)
        assert_holds("".join(map(str.removeprefix, texts, edges)), said)
        html = (built / f"{one.leaf.name}.html").read_text(encoding="utf-8")
        assert [mount["kind"] for mount in said["mounts"]] == MOUNTS.findall(html), one.leaf.name
    assert start == len(whole.pages)


def assert_holds(text: str, said: dict) -> None:
    """Each text's first letters and its last word, for what lies between may go over two sheets; each figure drawn, and the words in it."""
    assert len(said["texts"]) > 1
    ends = [end for one in said["texts"] for end in (bare(one)[:30], *map(bare, re.findall(r"\w+", one)[-1:]))]
    assert [end for end in ends if end not in text] == []
    for mount in said["mounts"]:
        assert mount["drawn"] > 0 and len(mount["words"]) > 1, mount
        assert mount["high"] <= SHEET, mount["kind"]
        assert [word for word in mount["words"] if bare(word)[:30] not in text] == [], mount["kind"]


def assert_links_stay_inside(whole: PdfReader) -> None:
    annotations = [one.get_object() for page in whole.pages for one in page.get("/Annots", [])]
    inside = [one for one in annotations if "/Dest" in one]
    outside = [one["/A"]["/URI"] for one in annotations if "/A" in one]
    sheets = {page.indirect_reference.idnum for page in whole.pages}
    assert len(inside) > 2 and all(one["/Dest"][0].idnum in sheets for one in inside)
    assert outside and all(address.startswith("https://") for address in outside)


def test_the_outline_is_the_table_of_contents(small):
    chapters, _, whole = small
    first, sections, part, below = titles(whole.outline)
    assert first == chapters[0].title == whole.metadata.title == "What can stand on a page?"
    assert "Does a widget fit?" in sections
    assert part == "Everything at once" and "What does a cell leave behind?" in below
    starts = itertools.accumulate((count(one.pdf) for one in chapters), initial=0)
    found = {item.title: whole.get_destination_page_number(item) for item in flat(whole.outline)}
    assert [found[one.title] for one in chapters] == list(starts)[:-1]


def flat(items) -> list:
    """Every item of the outline."""
    return [one for item in items for one in (flat(item) if isinstance(item, list) else [item])]
