"""What a page says of its values beside their units: kind of time, types of the bytes, which FLOPs (helpers.conventions).

A value brings it along: one that a lab kept from there ({lab}), a recorded one is measured. A section says it once: by the role
{told}`nccl` in its words, or else by the line that the build writes at its end; what differs there is marked behind the value.
{told}`nccl` reads "by NCCL's model", {told}`as NCCL guesses <nccl>` as it stands. It speaks for its section, in a table's head for that
column, elsewhere in a table for that row, and in a caption or an admonition for that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from helpers.conventions import ABOUT, KEYS, WORDS, needs, words

log = logging.getLogger(__name__)

VALUE, TOLD = "bim-conventions", "bim-says"  # attributes of nodes: {"time": "nccl"}, and (convention, key)
SCOPES = (nodes.section, nodes.admonition, nodes.table, nodes.caption, nodes.document)
Said = tuple[str, str]


class ToldRole(SphinxRole):
    """{told}`key` or {told}`words <key>`: the values here are of that kind."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        text, _, key = self.text.strip().removesuffix(">").rpartition("<")
        if key not in KEYS:
            log.warning("told: no convention %r; there are: %s", key, ", ".join(KEYS), location=self.get_location())
            return [nodes.literal("", self.text)], []
        said = (KEYS[key], key)
        return [nodes.inline("", text.strip() or words(*said), classes=[TOLD], **{TOLD: said})], []


def say(app: Sphinx, doctree: nodes.document) -> None:
    """Refuse values without their conventions, mark those that differ, and end each section with what nothing in it says."""
    told = [(node[TOLD], *reach(node)) for node in doctree.findall(nodes.inline) if TOLD in node]
    unsaid: dict[nodes.Element, list[tuple[nodes.Element, Said]]] = {}
    for value in [node for node in doctree.findall(nodes.Element) if VALUE in node]:
        for said in spoken(value).items():
            if words(*said) and not any(said == one and covers(value, *where) for one, *where in told):
                unsaid.setdefault(section(value), []).append((value, said))
    for place, values in unsaid.items():
        conclude(place, values)


def spoken(value: nodes.Element) -> dict[str, str]:
    """What of its conventions the value has to say, by its unit or the one behind it; a warning for what it lacks."""
    kept: dict[str, str] = value[VALUE]
    if isinstance(value, nodes.literal_block):
        return kept
    text = value.astext() + unit_behind(value)
    if missing := needs(text) - kept.keys():
        wanted = "; ".join(f"{one}: {', '.join(WORDS[one])}" for one in sorted(missing))
        log.warning("%r: keep it with its unit and one of %s", text, wanted, location=value, type="bim", subtype="told")
    said = needs(text) | {"pairs"}  # a share of a peak shows no unit, and brings its pairs along
    return {one: key for one, key in kept.items() if one in said or "bim-lab" in value["classes"]}


def unit_behind(value: nodes.Element) -> str:
    """What follows a value and gives a bare number its unit: ms, FLOP per byte, not the B of "for the 70B"."""
    at = value.parent.index(value) + 1
    behind = value.parent[at] if at < len(value.parent) else None
    word = re.match(r"\s?\S*(?: per byte)?", str(behind)) if isinstance(behind, nodes.Text) else None
    return word.group() if word else ""


def reach(told: nodes.Node) -> tuple[nodes.Element, int | None]:
    """For whom a {told} speaks: an element, and of a table one column, or every one (None)."""
    entry = above(told, nodes.entry)
    if entry is None:
        return above(told, SCOPES), None
    row = entry.parent
    return (above(row, nodes.table), row.index(entry)) if isinstance(row.parent, nodes.thead) else (row, None)


def covers(value: nodes.Element, where: nodes.Element, column: int | None) -> bool:
    """Does what is told at `where` speak for the value? The page's own words speak for what stands before its first heading."""
    if where.parent is None or isinstance(where.parent, nodes.document):
        return section(value) is where
    around = list(lineage(value))
    if column is None:
        return where in around
    return where in around and any(isinstance(one, nodes.entry) and one.parent.index(one) == column for one in around)


def conclude(place: nodes.Element, values: list[tuple[nodes.Element, Said]]) -> None:
    """The line at the end of a section's own text, and marks behind the values of which the line says something else."""
    line = []
    for convention in WORDS:
        keys = Counter(key for _, (one, key) in values if one == convention)
        if not keys:
            continue
        most = keys.most_common(1)[0][0]
        line.append(f"{ABOUT[convention]}: {words(convention, most)}{', unless marked' if len(keys) > 1 else ''}.")
        for value, said in values:
            if said[0] == convention and said[1] != most:
                mark(value, words(*said))
    paragraph = nodes.paragraph("", " ".join(line), classes=["bim-conventions"])
    subsections = [at for at, child in enumerate(place.children) if isinstance(child, nodes.section)]
    place.insert(subsections[0] if subsections else len(place.children), paragraph)


def mark(value: nodes.Element, text: str) -> None:
    """ " (measured)" behind the value."""
    at = value.parent.index(value)
    value.parent.insert(at + 1, nodes.inline("", f" ({text})", classes=["bim-how"]))


def section(node: nodes.Node) -> nodes.Element:
    return above(node, (nodes.section, nodes.document))


def above(node: nodes.Node, kinds: type | tuple[type, ...]) -> nodes.Element | None:
    """The nearest element of these kinds that holds the node."""
    return next((one for one in lineage(node) if isinstance(one, kinds)), None)


def lineage(node: nodes.Node) -> Iterator[nodes.Element]:
    """All that holds a node, from within."""
    while (node := node.parent) is not None:
        yield node


def setup(app: Sphinx) -> dict[str, bool]:
    """Before anything is veiled or folded: what is written here waits for a guess like all other text."""
    app.add_role("told", ToldRole())
    app.connect("doctree-read", say, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
