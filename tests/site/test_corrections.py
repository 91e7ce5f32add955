"""What was set right stays right: the old words stand nowhere where they stood, the new ones do, and what holds them is there."""

import json
from collections import Counter
from dataclasses import asdict
from functools import cache

import pytest
from books import ROOT

from website.corrected import Correction, corrections

ENTRIES = corrections()


@cache
def text(path):
    """A file as one line of words; of a notebook its sources and no outputs."""
    found = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".ipynb"):
        found = "\n".join("".join(cell["source"]) for cell in json.loads(found)["cells"])
    return " ".join(found.split())


def test_no_sentence_is_corrected_twice():
    assert [said for said, times in Counter(entry.said for entry in ENTRIES).items() if times > 1] == []


@pytest.mark.parametrize("part", sorted({entry.where[0] for entry in ENTRIES}))
def test_old_words_are_gone_and_new_ones_there(part):
    for entry in (one for one in ENTRIES if one.where[0] == part):
        still = [path for path in entry.where if " ".join(entry.said.split()) in text(path)]
        assert still == [], entry.said
        assert " ".join(entry.now.split()) in text(entry.where[0]), entry.now
        assert not entry.held or (ROOT / entry.held.partition("::")[0]).exists(), entry.held


@pytest.mark.parametrize(
    "part", [{"date": "yesterday"}, {"where": ()}, {"said": ""}, {"why": ""}, {"source": ""}], ids=str
)
def test_an_entry_that_is_not_whole_is_refused(part):
    whole = asdict(ENTRIES[0])
    with pytest.raises(ValueError, match="a correction has"):
        Correction(**whole | part)
