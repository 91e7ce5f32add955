"""The prose: no typed number with a unit, every chapter a pair, solutions that solve."""

import json
import re
from pathlib import Path

import pytest
import yaml

from helpers.facts import SOURCES

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "book").glob("*.md"))
LABS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CHAPTERS = [
    page
    for page in PAGES
    if page.stem
    not in (
        "intro",
        "setup",
        "renting",
        "yours",
        "repair",
        "guesses",
        "teaching",
        "catalogue",
        "playground",
        "puzzles",
        "recorded-runs",
    )
]
# Sizes that a sentence chooses as its example, addresses, and what a page of ours reads at most, which tests/view/test_yours_browser.py
# holds to its script; a derived, quoted or measured number never stands here.
CHOSEN = ("1 KiB", "64 KiB", "64 MiB", "1 GiB", "24 MiB")
TYPED = re.compile(r"\d[\d.,]*\s*(?:[KMGT]i?B(?:/s)?|[KMGT]b/s|bytes|µs|us|ms|ns|%|per cent)\b|\d[\d.,]*\s*%")


COLUMNS = 88  # of code, that a page has room for at 1280 px
FENCE = re.compile(r"^(`{3,})([^\n]*)\n(.*?)^\1", re.S | re.M)


def wide(text: str) -> list[str]:
    """The lines of a page's code that are too long for its column."""
    codes = [code for _, what, code in FENCE.findall(text) if not what.startswith("{")]  # a brace begins a directive
    return [line for code in codes for line in code.splitlines() if len(line) > COLUMNS]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_code_fits_its_column(page):
    assert wide(page.read_text()) == []


def test_a_line_that_is_too_long_is_seen():
    line = "x" * 89
    assert wide(f"{line}\n```python\n{line}\n```\n```{{note}} {line}\n{line}\n```\n") == [line]


def prose(text: str) -> str:
    """The page without front matter, code, directives' options, roles, links' targets and formulas."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
    text = re.sub(r"^(`{3}|:{3})\{predict\}[^\n]*\n(?::[^\n]*\n)*(.*?)^\1$", r"\2", text, flags=re.S | re.M)
    text = re.sub(r"^(`{3,}|:{3,})\{(?!admonition|dropdown|note|tip)[^\n]*\n.*?^\1", "", text, flags=re.S | re.M)
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    text = re.sub(r"\$\$.*?\$\$", "", text, flags=re.S)
    return re.sub(r"\{\w+\}`[^`]*`|`[^`]*`|\$[^$]*\$|\]\([^)]*\)", "", text)


def lab_prose(lab: Path) -> str:
    """What a lab says between its cells; what a cell prints is computed."""
    cells = json.loads(lab.read_text())["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def typed_numbers(text: str) -> list[str]:
    found = [match[0].strip() for match in TYPED.finditer(prose(text))]
    return [number for number in found if number not in CHOSEN]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_no_number_is_typed(page):
    """A number with a unit comes from the lab, from a fact or from a recorded run."""
    assert typed_numbers(page.read_text()) == []


@pytest.mark.parametrize("lab", LABS, ids=lambda p: p.stem)
def test_no_number_is_typed_in_a_lab_either(lab):
    """What a lab's prose puts into `code style` is an input of the cell beside it; a result is what that cell prints."""
    assert typed_numbers(lab_prose(lab)) == []


@pytest.mark.parametrize(
    "typed",
    [
        "It does 450 GB/s one way.",
        ":::{predict} x\n:unit: ms\nWhat, if not 4 ms?\n:::",
        "after 24.7 µs",
        "the 96 MiB buffer",
        "about 15 % off",
        "400 Gb/s",
        "12% more",
    ],
)
def test_a_typed_number_is_seen(typed):
    assert typed_numbers(f"# A page\n\n{typed}\n")


def test_what_is_not_typed_is_not_seen():
    assert not typed_numbers(
        "{fact}`H100.nvlink` and {lab}`bytes_4`, $2 \\cdot 64\\%$, `64 MiB`\n\n```{player} all_reduce ring\n:nbytes: 64 MiB\n```\n"
        "```{predict} x\n:range: 1 ms to 2 s\nHow long?\n```\n"
    )


def test_an_article_is_named_where_a_page_first_speaks_of_it():
    """By the role, which has author, title and address from helpers.facts; what follows on the page may say "the article"."""
    articles = [one for one in SOURCES.values() if one.by]
    for page in PAGES:
        text = FENCE.sub("", page.read_text())
        first = re.search(r"\barticles?\b", text)
        assert not first or text[first.start() - 1] == "{", page.stem
        assert not [one.title for one in articles if one.url in text], page.stem
    for lab in LABS:  # where JupyterLab knows no roles
        first = re.search(r"\barticles?\b(?: \[\*(.*?)\*\]\((.*?)\))?", FENCE.sub("", lab_prose(lab)))
        assert not first or (first[1], first[2]) in {(one.title, one.url) for one in articles}, lab.stem


@pytest.mark.parametrize("page", CHAPTERS, ids=lambda p: p.stem)
def test_a_chapter_is_a_pair_with_a_script(page):
    lab = ROOT / "notebooks" / f"{page.stem}.ipynb"
    assert lab.exists() and (ROOT / "scripts" / f"{page.stem}.py").exists()
    text = page.read_text()
    assert f"](../notebooks/{page.stem}.ipynb)" in text
    for heading in ("## Exercises", "## Sources", "{admonition} Takeaway\n:class: tip\n"):
        assert heading in text
    first = json.loads(lab.read_text())["cells"][0]["source"]
    assert f"](../book/{page.stem}.md)" in "".join(first)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_headings_are_at_most_three_deep(page):
    assert not re.search(r"^####", page.read_text(), re.M)


def test_every_page_is_in_the_table_of_contents():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    files = set(re.findall(r"'(?:root|file)': '([^']+)'", str(toc)))
    written = {f"book/{p.stem}" for p in PAGES} | {f"notebooks/{p.stem}" for p in (ROOT / "notebooks").glob("*.ipynb")}
    assert files == written


def test_the_readme_prints_what_it_says(capsys):
    readme = (ROOT / "README.md").read_text()
    assert len([line for line in readme.splitlines() if not line.startswith("| ")]) < 64, (
        "chapters beside, a screen or two"
    )
    code, printed = (re.search(rf"```{kind}\n(.*?)```", readme, re.S)[1] for kind in ("python", "text"))
    exec(code, {})
    assert capsys.readouterr().out == printed


def test_every_file_that_the_readme_links_is_there():
    text = re.sub(r"```.*?```", "", (ROOT / "README.md").read_text(), flags=re.S)
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)|(?:src|srcset)=\"([^\"]+)\"", text)
    assert len(links) > 8
    assert [link for pair in links for link in pair if link and not (ROOT / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_every_guess_is_asked_in_a_block_of_its_own(page):
    """One in the middle of a line would be text."""
    assert not re.search(r"^.*[^:`\n].*\{predict\}", page.read_text(), re.M)
