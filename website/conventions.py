"""What a page says of its values beside their units: kind of time, types of the bytes, which FLOPs (helpers.conventions).

A value brings it along: one that a lab kept from there ({lab}), a recorded one is measured. A section says it once: by the role
{told}`nccl` in its words, or else by the line that the build writes at its end; what differs there is marked behind the value.
{told}`nccl` reads "by NCCL's model", {told}`as NCCL guesses <nccl>` as it stands. It speaks for its section, in a table's head for that
column, elsewhere in a table for that row, and in a caption, a footnote, an admonition or what folds for that.
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
PLACES = (nodes.section, nodes.document)
SCOPES = (*PLACES, nodes.Admonition, nodes.container, nodes.footnote, nodes.table, nodes.caption)
Said = tuple[str, str]
# The word behind a number: " ms", " FLOP per byte".
UNIT = re.compile(r"[\s-]?\S+(?: per byte| (?:a|per) second)?")


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
    told = [(node, *reach(node)) for node in doctree.findall(nodes.inline) if TOLD in node]
    unsaid: dict[nodes.Element, list[tuple[nodes.Element, Said]]] = {}
    for value in [node for node in doctree.findall(nodes.Element) if VALUE in node]:
        for said in spoken(value).items():
            heard = [(one[TOLD], where) for one, *where in told if one[TOLD][0] == said[0] and covers(value, *where)]
            if not words(*said) or any(one == said for one, _ in heard):
                continue
            if any(not isinstance(where, PLACES) for _, (where, _) in heard):
                mark(value, *said)
            else:
                unsaid.setdefault(section(value), []).append((value, said))
    for place, values in unsaid.items():
        conclude(place, values, {one[TOLD][0] for one, *_ in told if section(one) is place})


def spoken(value: nodes.Element) -> dict[str, str]:
    """What of its conventions the value has to say, by its unit or the one behind it; a warning for what it lacks."""
    kept: dict[str, str] = value[VALUE]
    if isinstance(value, nodes.literal_block):
        return kept
    text = value.astext() + unit_behind(value)
    if missing := needs(text) - kept.keys():
        wanted = "; ".join(f"{one}: {', '.join(WORDS[one])}" for one in sorted(missing))
        place = next((one for one in lineage(value) if one.line), value)
        log.warning("%r: keep it with its unit and one of %s", text, wanted, location=place, type="bim", subtype="told")
    said = needs(text) | {"pairs"}  # a share of a peak shows no unit, and brings its pairs along
    return {one: key for one, key in kept.items() if one in said or "bim-lab" in value["classes"]}


def unit_behind(value: nodes.Element) -> str:
    """What gives a bare number its unit: the word that follows it; in a table the head of its column, or a head that all share."""
    if not value.astext()[-1:].isdigit():
        return ""
    if found := UNIT.match(following(value)):
        return found.group()
    parts = re.split(r", | in |[()]", heading(value))
    return next((f" {part}" for part in parts if needs(f"1 {part}")), "")


def following(value: nodes.Element) -> str:
    """The text behind a value in its paragraph or its cell."""
    block = next(one for one in lineage(value) if not isinstance(one, nodes.Inline))
    texts = list(block.findall(nodes.Text))
    own = [i for i, text in enumerate(texts) if any(one is value for one in lineage(text))]
    return "".join(texts[own[-1] + 1 :]) if own else ""


def heading(value: nodes.Element) -> str:
    """What stands over a value in a table: at the head of its column, and in the corner where rows have names; "" outside one."""
    entry = above(value, nodes.entry)
    if entry is None or isinstance(entry.parent.parent, nodes.thead):
        return ""
    row, heads = entry.parent, next(above(entry, nodes.tgroup).findall(nodes.thead), ())
    places = {row.index(entry)} | ({0} if not row[0].astext()[:1].isdigit() else set())
    return ", ".join(one[at].astext() for one in heads for at in places if at < len(one))


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


def conclude(place: nodes.Element, values: list[tuple[nodes.Element, Said]], told: set[str]) -> None:
    """The line at the end of a section's own text, and marks behind the values of which the line says something else.

    told: conventions that words of the section say of some of its values; the line speaks for the others.
    """
    line = []
    for convention in WORDS:
        keys = Counter(key for _, (one, key) in values if one == convention)
        if not keys:
            continue
        most = keys.most_common(1)[0][0]
        about = f"Other {ABOUT[convention]}" if convention in told else upper(ABOUT[convention])
        line.append(f"{about}: {words(convention, most)}{', unless marked' if len(keys) > 1 else ''}.")
        for value, said in values:
            if said[0] == convention and said[1] != most:
                mark(value, *said)
    paragraph = nodes.paragraph("", " ".join(line), classes=["bim-conventions"])
    subsections = [at for at, child in enumerate(place.children) if isinstance(child, nodes.section)]
    place.insert(subsections[0] if subsections else len(place.children), paragraph)


def mark(value: nodes.Element, convention: str, key: str) -> None:
    """ " (measured)" behind the value and its unit; under one of several lines its own line."""
    at, text = value.parent.index(value) + 1, words(convention, key)
    if isinstance(value, nodes.literal_block):
        value.parent.insert(
            at, nodes.paragraph("", f"{upper(ABOUT[convention])}: {text}.", classes=["bim-conventions"])
        )
        return
    behind = value.parent[at] if at < len(value.parent) else None
    unit = re.match(r"\s?[\w/]+", str(behind)) if isinstance(behind, nodes.Text) and not needs(value.astext()) else None
    if unit:
        value.parent[at : at + 1] = [nodes.Text(unit.group()), nodes.Text(behind[unit.end() :])]
    value.parent.insert(at + bool(unit), nodes.inline("", f" ({text})", classes=["bim-how"]))


def upper(text: str) -> str:
    return text[0].upper() + text[1:]


def section(node: nodes.Node) -> nodes.Element:
    return above(node, PLACES)


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
