"""A widget's style sheet is on the whole page: a class that the page's own frame wears must mean nothing to it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHEETS = sorted((ROOT / "helpers" / "view").rglob("*.css"))
PAGE = [*(ROOT / "website" / "theme").glob("*.html"), *(ROOT / "website").glob("*.py")]


def worn(text: str) -> set[str]:
    return {name for names in re.findall(r'class="([^"]*)"', text) for name in re.findall(r"bim-[\w-]+", names)}


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda p: p.stem)
def test_no_rule_begins_at_a_class_of_the_frame(sheet):
    frame = {name for path in PAGE for name in worn(path.read_text())} - {"bim-mount"}
    assert "bim-text" in frame
    rules = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.S)
    selectors = [s.strip() for rule in re.findall(r"([^{}]+)\{", rules) for s in rule.split(",")]
    first = {m[1] for s in selectors if (m := re.match(r"\w*\.(bim-[\w-]+)", s))}
    assert first & frame == set()
