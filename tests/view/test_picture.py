"""The README's pictures are what the player draws today."""

import re
from xml.etree import ElementTree

import pytest

from helpers.collectives import CATALOGUE, Schedule
from helpers.view.player.picture import path, picture
from helpers.view.shared.tokens import THEMES, colour


@pytest.mark.parametrize("theme", THEMES)
def test_the_committed_picture_is_todays(theme):
    assert path(theme).read_text(encoding="utf-8") == picture(theme), "run python -m helpers.view.player.picture"


@pytest.mark.parametrize("theme", THEMES)
def test_the_picture_is_of_pythons_schedule(theme):
    root = ElementTree.fromstring(path(theme).read_text(encoding="utf-8"))
    svg = "{http://www.w3.org/2000/svg}"
    assert Schedule.parse(root.find(f"{svg}desc").text) == CATALOGUE["all_reduce", "ring"](nranks=4)
    cells = [g for g in root.iter(f"{svg}g") if g.get("class", "").startswith("bim-cell")]
    assert len(cells) == 16 + 4  # memory, and one on each link
    assert not re.search(r"undefined|NaN|<script|https?://(?!www\.w3\.org)", ElementTree.tostring(root, "unicode"))
    assert f"--bim-rank-0:{colour('rank-0', theme)}" in root.find(f"{svg}style").text
