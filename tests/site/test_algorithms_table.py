"""The generated table of algorithms: every entry has a row, every name a source, every count is the schedule's."""

import re

import pytest
from books import ROOT
from tabs import until

from helpers.collectives import CATALOGUE, about
from helpers.facts import USERS
from website.algorithms import NAMES, counted, permalink, tex

LINES = {key: about(build).used_by for key, build in CATALOGUE.items()}


@pytest.mark.parametrize("key", LINES, ids=" ".join)
def test_whoever_uses_an_algorithm_is_named_with_a_source(key):
    assert NAMES.search(LINES[key]) or re.match(r"nobody|jobs with a process group", LINES[key])


def test_no_source_is_left_over():
    named = {name for line in LINES.values() for name in NAMES.findall(line)}
    assert named == set(USERS)


def test_the_page_shows_every_collective():
    page = (ROOT / "book" / "catalogue.md").read_text()
    shown = re.findall(r"^```\{algorithms\} (\w+)$", page, re.M)
    assert shown == list(dict.fromkeys(collective for collective, _ in CATALOGUE))


def test_every_algorithm_has_its_row_on_the_built_page(site):
    html = (site / "book" / "catalogue.html").read_text()
    links = re.findall(r'href="(#player-0--[^"]+)">([\w-]+)</a>', html)
    assert [text for _, text in links] == [algorithm for _, algorithm in CATALOGUE]
    assert [link for link, _ in links] == [permalink(*key, 8) for key in CATALOGUE]


def test_a_name_leads_to_its_schedule(site, open_page):
    page, watch = open_page(site.as_uri(), "book/catalogue.html")
    page.get_by_role("link", name="pat", exact=True).first.click()
    chosen = page.locator(".bim-mount[data-mounted] select[aria-label=Algorithm]").first
    chosen.wait_for()
    until(page, "() => document.querySelector('select[aria-label=Algorithm]').value === 'pat'")
    assert page.locator("select[aria-label=Collective]").first.input_value() == "reduce_scatter"
    assert watch.errors == []


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("2(P-1)/P", "2(P-1)/P"),
        ("2⌈log2 P⌉", r"2\lceil \log_2  P\rceil "),
        ("min(1,(P+1)/2)", r"\min (1,(P+1)/2)"),
        ("2-2/2^⌊log2 P⌋", r"2-2/2^{\lfloor \log_2  P\rfloor }"),
        ("2(G-1)+2(P/G-1)", "2{(G-1)}+2{(P/G-1)}"),
        ("ones(P)/P", r"\operatorname{ones}(P)/P"),
    ],
)
def test_forms_are_typeset(form, written):
    assert tex(form) == written


def test_every_form_of_the_table_is_a_formula(site):
    html = (site / "book" / "catalogue.html").read_text()
    tables = re.findall(r'<table class="bim-algorithms.*?</table>', html, re.DOTALL)
    rows = [row for table in tables for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)[1:]]
    assert len(rows) == len(CATALOGUE)
    for row in rows:
        cells = re.findall(r"<td>.*?</td>", row, re.DOTALL)
        assert [name for name, cell in zip("nsmabu", cells, strict=True) if 'class="katex"' in cell] == ["s", "m"]


def test_counts_are_counted():
    assert counted("all_reduce", "ring", 8) == ("14 steps", "1.75 N")
    assert counted("reduce", "flat", 4) == ("3 steps", "3 N"), "the root sends nothing and receives three times"
    assert counted("broadcast", "binomial", 2) == ("1 step", "1 N")
    assert counted("all_to_all", "flat", 4) == ("3 steps", "0.75 N")
    assert counted("broadcast", "ring", 4)[2].startswith("with S = ")
    assert counted("all_reduce", "nvls", 8) == ("11 steps", "1.125 N", "with S = 64")
    assert "--slices-8--" in permalink("all_reduce", "nvls", 8)
