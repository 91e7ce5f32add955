"""The page `repair`: each of its sections is whole, and whatever names one names one that is there."""

import re
from pathlib import Path

import pytest

from helpers.yours.causes import KINDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "repair.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^\(([\w-]+)\)=\n(### .*?)(?=^\(|^## |\Z)", PAGE, re.S | re.M))
WARNINGS = ROOT / "helpers" / "yours" / "logs" / "warnings.toml"
LEADS = ("**You see**", "**It costs", "**Look", "**Repair", "**Not worth it**")


def test_every_cause_leads_to_its_chapter_and_to_a_section_that_is_there():
    assert {kind.repair for kind in KINDS.values()} - {""} <= set(SECTIONS)
    assert [name for name, kind in KINDS.items() if not (ROOT / "book" / f"{kind.chapter}.md").exists()] == []


def test_every_warning_leads_to_a_section_that_is_there():
    told = re.findall(r'^repair = "(.+)"', WARNINGS.read_text(encoding="utf-8"), re.M)
    assert len(told) >= 40 and set(told) <= set(SECTIONS)


def test_every_section_is_in_the_table_and_every_link_has_its_section():
    table = re.findall(r"\]\(#([\w-]+)\) \|$", PAGE.split("\n## ")[0], re.M)
    assert sorted(table) == sorted(SECTIONS)
    assert set(re.findall(r"\]\(#([\w-]+)\)", PAGE)) <= set(SECTIONS)


@pytest.mark.parametrize("anchor", SECTIONS)
def test_a_section_has_all_its_parts_and_a_source(anchor):
    assert [lead for lead in LEADS if f"\n{lead}" not in SECTIONS[anchor]] == []
    assert "```bash" in SECTIONS[anchor]
    assert "](https://" in SECTIONS[anchor] or "](allocator.md)" in SECTIONS[anchor]
