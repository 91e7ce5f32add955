"""No bare bandwidth stands in a page or a lab: each says its direction, or what is read, in its own sentence or paragraph."""

import re

import pytest
from books import ROOT, pages_of_toc
from bs4 import BeautifulSoup, SoupStrainer, Tag

RATE = re.compile(r"\d[\d.,\u202f\u00a0 ]*(?:[kKMGT]i?B|[MGT]b)/s")
# One way or both; algbw and busbw count one; what is only read has one direction. "In what direction" is said of a mistake.
SAID = re.compile(
    r"\b(?:one way|either way|each way|both ways|algbw|busbw|(?<!much-)reads?|in what direction)\b", re.IGNORECASE
)
NOT_PROSE = {"pre", "script", "style", "svg", "table"}
NOR = {"bim-mount", "bim-drawn", "cell_output", "cell_input", "katex"}  # classes
DATA = re.compile(r"<(script|style)\b.*?</\1>", re.DOTALL)  # most of a page, and never inside one another
SENTENCE = re.compile(r"(?<=[.!?;:]) (?=[A-Z0-9(])")


def no_prose(tag: Tag) -> bool:
    return tag.name in NOT_PROSE or not NOR.isdisjoint(tag.get("class", ()))


def paragraphs(html: str) -> list[str]:
    """What a reader reads in a row: a guess is one, with its question and its answer. None, quickly, where no rate stands at all."""
    html = DATA.sub("", html)
    if not RATE.search(html):
        return []
    page = BeautifulSoup(html, "html.parser", parse_only=SoupStrainer("main")).find("main")
    for other in page.find_all(no_prose):
        other.decompose()
    guesses = [guess.extract() for guess in page.select(".bim-predict")]
    ends = [one for one in page.find_all(["p", "li", "dd", "h1", "h2", "h3"]) if not one.find(["p", "li"])]
    whole = [
        f"{guess['data-guess']} {guess.get_text(' ')}".replace(". ", ", ").replace("? ", ", ") for guess in guesses
    ]
    return [re.sub(r"\s+", " ", text).strip() for text in (*(one.get_text() for one in ends), *whole)]


def bare(paragraph: str) -> list[str]:
    """Its sentences with a bandwidth that says no direction."""
    return [one for one in SENTENCE.split(paragraph) if RATE.search(one) and not SAID.search(one)]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("The wire carries 450 GB/s. It is NVLink, one way.", ["The wire carries 450 GB/s."]),
        ("The wire carries 450 GB/s one way, so a GiB takes 2.4 ms.", []),
        ("A port has 400 Gb/s, the slot 63 GB/s both ways.", []),
        ("It moves 1,935.5 MB/s.", ["It moves 1,935.5 MB/s."]),
        ("It is an InfiniBand NDR.", []),
    ],
)
def test_a_bare_bandwidth_is_seen(said, found):
    assert bare(said) == found


def test_no_page_has_a_bare_bandwidth(site):
    pages = {name: paragraphs((site / name).read_text(encoding="utf-8")) for name in pages_of_toc(ROOT)}
    assert sum(bool(RATE.search(text)) for texts in pages.values() for text in texts) > 30, "the search finds something"
    assert [f"{name}: {one}" for name, texts in pages.items() for text in texts for one in bare(text)] == []
