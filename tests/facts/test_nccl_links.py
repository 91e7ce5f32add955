"""A link to NCCL's code shows the version that the text beside it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helpers.facts import SOURCES, USERS

ROOT = Path(__file__).parents[2]
# The version in makefiles/version.mk of each commit that we link.
VERSIONS = {
    "5067397c2676d5aed50042fc39e5c8ee96eb0027": "2.30.7",
    "b91894bd5b190c874d98a017f93f5daa515b65d0": "2.29.7",
    "ebd1e929285881cb4df02c3459588a2e12b2d8c0": "2.29.2",
    "dbc86fd06e8b0c4517b95d8958a09ccacf9520c9": "2.28.9",
    "f1308997d0420148b1be1c24d63f19d902ae589b": "2.28.3",
    "6aae37927840b2bd7b7d42d2f0050e75f88ee97f": "2.24.3",
    "b6475625fbcaa2c3c0e50eed2fa1255d7514d4a2": "2.20.3",
}
LINKED = re.compile(r"github\.com/NVIDIA/nccl/(?:blob|tree)/(\w+)")
NAMED = re.compile(r"\*NCCL\* (2\.\d+)")
PAGES = [page for page in sorted(ROOT.glob("book/*.md")) if LINKED.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("source", [*SOURCES.values(), *USERS.values()], ids=lambda source: source.title[:40])
def test_a_source_links_the_version_that_it_names(source):
    if linked := LINKED.search(source.url):
        assert source.title.startswith(f"NCCL {VERSIONS[linked[1]].rpartition('.')[0]}"), source


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_that_names_a_version_in_its_sources_links_that_one(page):
    """Every commit is known. Under Sources, "*NCCL* 2.30" means the code that the page links."""
    text = page.read_text(encoding="utf-8")
    linked = {VERSIONS[commit].rpartition(".")[0] for commit in LINKED.findall(text)}
    sources = "\n".join(line for line in text.partition("## Sources")[2].splitlines() if "src/" in line)
    assert set(NAMED.findall(sources)) <= linked, page.stem


def test_there_is_something_to_look_at():
    assert {"ring", "trees", "hierarchy", "halving-doubling"} <= {page.stem for page in PAGES}
    assert sum(bool(LINKED.search(source.url)) for source in USERS.values()) >= 4
