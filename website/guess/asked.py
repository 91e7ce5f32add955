"""What a page asks, as the build finds it again when the page has been read: every block with its answer."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from docutils import nodes
from sphinx.environment import BuildEnvironment

from website.guess.spelling import Said, said

ASKED = "bim-asked"  # what predict.py leaves on a block's first node: its name, the answer's text and unit, the question of `gap`
KNOWN = 2  # figures
CLOSING = "</div></div>"  # a block's last node


class Question(NamedTuple):
    """name: of the block; unit: in which it asks; gap: what the lab's `gap` asks, if that is where the answer comes from."""

    name: str
    unit: str
    gap: str
    answer: Said

    def told(self, text: str) -> bool:
        """Is the answer said there, with its unit, and in figures enough to be no other number by chance?"""
        return any(
            found.same(self.answer) and min(found.digits, self.answer.digits) >= KNOWN
            for found in said(text, self.unit)
        )


def questions(doctree: nodes.document) -> list[tuple[nodes.raw, Question]]:
    """Every block's first node and what it asks, in order; a curve has no single answer."""
    return [(node, question(*node[ASKED])) for node in doctree.findall(nodes.raw) if ASKED in node]


def question(name: str, text: str, unit: str, gap: str) -> Question:
    return Question(name, unit, gap, next(said(text, unit)))


def order(doctree: nodes.document, *kinds: type[nodes.Node]) -> Iterator[nodes.Node]:
    """All nodes of these kinds as they follow one another on the page."""
    return doctree.findall(lambda node: isinstance(node, kinds))


def ancestors(node: nodes.Node) -> Iterator[nodes.Element]:
    while node := node.parent:
        yield node


def near(block: nodes.raw, node: nodes.Node) -> bool:
    """In the block's section or one inside of it; what the whole page opens with has no section inside."""
    above = [one for one in ancestors(node) if isinstance(one, nodes.section)]
    opens = isinstance(block.parent.parent, nodes.document)
    return block.parent in (above[:1] if opens else above)


def raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


def tempting_of_page(env: BuildEnvironment, name: str) -> str:
    """What the page of a lab's own stem says is tempting, where it asks the same; nothing on that page itself."""
    path = Path(env.srcdir, "book", f"{PurePosixPath(env.docname).name}.md")
    if not env.docname.startswith("notebooks/") or not path.exists():
        return ""
    env.note_dependency(str(path))
    block = re.search(rf"^:::\{{predict\}} {name}\n((?::.*\n)*)", path.read_text(encoding="utf-8"), re.MULTILINE)
    found = re.search(r"^:tempting: (.*)", block[1], re.MULTILINE) if block else None
    return found[1] if found else ""


def plainly(question: list[nodes.Node]) -> str:
    """As a link says it, which draws no formulas."""
    text = " ".join(node.astext() for node in question)
    return re.sub(r"\\frac{(.*?)}{(.*?)}", r"(\1)/\2", text).replace(r"\,", " ")
