"""What a lab's cell printed and a reader of the page should not see before he has guessed: folded, and opened by assets/guess/waiting.js.

An output behind a block that tells its answer waits for that block: a line of `gap` tells it, and so does the number with its unit, in
whichever spelling. What a checker says behind "Hint:" is folded by itself. As every solution it waits for the block before it in its
section, and the build fails where there is none on the page. And a line of `gap` says what is so, without the cell's own guess: the
page's box asks for the reader's. JupyterLab and nbval
know nothing of it.
"""

import json
import re
from collections.abc import Iterator
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from website.guess.answers import GAP
from website.guess.asked import ASKED, Question, ancestors, order, question, raw

log = logging.getLogger(__name__)
HINT = re.compile(r"\s*\bHint: ")
PRESET = re.compile(r"(\??) You said (.+?), it is (.+?): .*")


def fold(app: Sphinx, doctree: nodes.document) -> None:
    """Every output of a lab that tells what was asked, every hint; a solution that has nothing to wait for is a warning."""
    asked: list[Question] = []
    for node in list(order(doctree, nodes.raw, nodes.literal_block, nodes.container)):
        if ASKED in node:
            asked.append(question(*node[ASKED]))
        elif printed(node):
            warn(node, asked, replace(node, list(told(node.astext(), asked))))
        elif node.get("design_component") == "dropdown":
            warn(node, asked, True)


def printed(node: nodes.Element) -> bool:
    """By a lab's cell, as text: a stream, or one of the forms of a result."""
    return isinstance(node, nodes.literal_block) and any("cell_output" in above["classes"] for above in ancestors(node))


def told(text: str, asked: list[Question]) -> Iterator[str]:
    """The blocks whose answers it tells."""
    gaps = {match[1] for line in text.splitlines() if (match := GAP.fullmatch(line))}
    return (one.name for one in asked if one.gap in gaps or one.told(text))


def replace(block: nodes.literal_block, names: list[str]) -> bool:
    """The output folded for these blocks, or the hint in it; -> was there a hint?"""
    text = PRESET.sub(r"\1 It is \3.", block.astext())
    hint = HINT.search(text)
    if names:
        waits = escape(json.dumps(names))
        block.parent.replace(block, folded(block, text, "What this printed", f' data-waits="{waits}"'))
    elif hint:
        shown = [with_text(block, text[: hint.start()])] if hint.start() else []
        block.parent.replace(block, [*shown, *folded(block, sentence(text[hint.end() :]), "A hint")])
    elif text != block.astext():
        block.parent.replace(block, with_text(block, text))
    return hint is not None


def folded(block: nodes.literal_block, text: str, name: str, waits: str = "") -> list[nodes.Node]:
    """In a native details."""
    opening = raw(f'<details class="bim-waits"{waits}><summary>{name}</summary>')
    return [opening, with_text(block, text), raw("</details>")]


def with_text(block: nodes.literal_block, text: str) -> nodes.literal_block:
    """A literal block like it, of another text."""
    return nodes.literal_block(text, text, **block.attributes)


def sentence(text: str) -> str:
    """It stood behind a colon, and now stands alone."""
    return text[:1].upper() + text[1:]


def warn(node: nodes.Element, asked: list[Question], waits: bool) -> None:
    """Behind no question a solution would stand open."""
    if waits and not asked:
        log.warning(
            "predict: a solution or a hint, and nothing to guess before it",
            location=node,
            type="bim",
            subtype="predict",
        )


def setup(app: Sphinx) -> dict[str, bool]:
    """When a page has been read."""
    app.connect("doctree-read", fold)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
