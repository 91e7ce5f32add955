"""What a lab's cell printed and a reader of the page should not see before he has guessed: folded, and opened by assets/guess/predict.js.

A line of `gap` tells the truth, so all that its cell printed waits for the blocks that ask the same; a "Hint:" is folded by itself.
JupyterLab and nbval know nothing of it.
"""

import json
from html import escape
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx

from website.guess.answers import GAP
from website.guess.predict import raw

HINT = "Hint: "


class Parts(NamedTuple):
    """What stays, what folds, the fold's name, and the questions that it answers."""

    shown: str
    folded: str
    name: str
    gaps: tuple[str, ...]


def fold(app: Sphinx, doctree: nodes.document) -> None:
    """Every output of a lab that tells what was asked."""
    if not app.env.docname.startswith("notebooks/"):
        return
    for block in list(doctree.findall(nodes.literal_block)):
        if "cell_output" in block.parent.get("classes", ()) and (parts := divided(block.astext())):
            replace(block, parts)


def divided(text: str) -> Parts | None:
    """How an output is folded; None where it gives nothing away."""
    lines = text.splitlines()
    if gaps := tuple(match[1] for line in lines if (match := GAP.fullmatch(line))):
        return Parts("", text, "What this printed", gaps)
    hint = next((i for i, line in enumerate(lines) if line.startswith(HINT)), None)
    if hint is None:
        return None
    return Parts("\n".join(lines[:hint]), "\n".join(lines[hint:]).removeprefix(HINT), "A hint", ())


def replace(block: nodes.literal_block, parts: Parts) -> None:
    """The output, what is folded of it in a native details."""
    gaps = f' data-gaps="{escape(json.dumps(parts.gaps, ensure_ascii=False))}"' if parts.gaps else ""
    shown = [with_text(block, parts.shown)] if parts.shown else []
    opening = raw(f'<details class="bim-waits"{gaps}><summary>{parts.name}</summary>')
    block.parent.replace(block, [*shown, opening, with_text(block, parts.folded), raw("</details>")])


def with_text(block: nodes.literal_block, text: str) -> nodes.literal_block:
    """A literal block like it, of another text."""
    return nodes.literal_block(text, text, **block.attributes)


def setup(app: Sphinx) -> dict[str, bool]:
    """When a page has been read."""
    app.connect("doctree-read", fold)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
