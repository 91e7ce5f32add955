"""The generated list of NCCL's warnings: each stands in the section that repairs it, once."""

import re
from pathlib import Path

import pytest
from docutils import nodes

from helpers.yours.logs.known import KNOWN
from website.warnings_list import SECTIONS, WarningsDirective, entry, spelled

PAGE = (Path(__file__).parents[2] / "book" / "repair.md").read_text(encoding="utf-8")


def test_every_section_that_a_warning_leads_to_lists_it():
    listed = re.findall(r"^```\{warnings\} (\S+)$", PAGE, re.MULTILINE)
    assert sorted(listed) == sorted(SECTIONS)
    sections = {part.split(")=")[0]: part for part in re.split(r"^\(", PAGE, flags=re.MULTILINE)[1:]}
    assert all(f"```{{warnings}} {one}\n" in sections[one] for one in SECTIONS)


@pytest.mark.parametrize("one", KNOWN, ids=lambda one: one.name)
def test_a_warning_is_told_whole(one):
    term, told = entry(one).children
    assert term.astext().endswith(one.example) and one.cure in told.astext() and one.why[1:] in told.astext()
    (link,) = told.findall(nodes.reference)
    assert link["refuri"] == one.thread and link.astext() in one.thread.replace("/issues/", "#").replace("/pull/", "#")


def test_what_is_typed_is_code():
    parts = spelled("set NCCL_P2P_DISABLE=1, or docker run --shm-size=8g")
    assert [part.astext() for part in parts if isinstance(part, nodes.literal)] == [
        "NCCL_P2P_DISABLE=1",
        "docker run --shm-size=8g",
    ]


def test_a_section_that_there_is_not_fails():
    made = object.__new__(WarningsDirective)
    made.arguments = ["shm"]
    with pytest.raises(ValueError, match="unknown shm: expected some of shared-memory"):
        made.tables()
