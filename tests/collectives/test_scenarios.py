"""The chapter's table from a need to its call: the ten of them, with the volumes of each role as helpers.collectives has them."""

import re
from pathlib import Path

from helpers.collectives import PRIMITIVES

PAGE = Path(__file__).parents[2] / "book" / "primitives.md"
ROLES = {"root": "the root", "others": "every other rank", "sender": "the sender", "receiver": "the receiver"}


def rows():
    """{call: (sends, receives)} of the table, as the page spells them."""
    table = PAGE.read_text(encoding="utf-8").partition("## All ten in one table")[2].partition("\n## ")[0]
    cells = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ") and "`" in line]
    return {call.strip("`"): (sends, receives) for _, call, _, sends, receives in cells}


def volumes(cell, every):
    """{role: volume} of one cell: `root $N$, others 0`, or one volume for `every` role."""
    told = re.findall(r"(root|others|sender|receiver) \$?([^$,]+)\$?", cell)
    return {ROLES[who]: what for who, what in told} or dict.fromkeys(every, cell.strip("$"))


def test_the_table_has_the_ten_and_their_volumes():
    found = rows()
    assert found.keys() == PRIMITIVES.keys()
    for name, (sends, receives) in found.items():
        for volume in PRIMITIVES[name].volumes:
            every = [volume.who]
            assert volumes(sends, every).get(volume.who, "0") == volume.sends, (name, volume)
            assert volumes(receives, every).get(volume.who, "0") == volume.receives, (name, volume)
