"""What shows what a block asks for: hidden in its place until the reader has guessed or looked (assets/guess/waiting.js).

The rule. Behind a block that has a curve drawn, the chart with that curve, wherever it stands; behind one that asks for a number, every
chart of its own section that says the number with its unit. What tells without saying it the block names under `:covers:`, a chart by its
name or, in its own section, a widget by its kind; the build fails where there is none. All else is for the reader to look at first.
"""

import json
import re
from collections.abc import Iterable
from html import escape, unescape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from website.guess.asked import ASKED, COVERS, DRAWN, near, order, question, raw
from website.lab import chart_name

log = logging.getLogger(__name__)


def cover(app: Sphinx, doctree: nodes.document) -> None:
    """Everything that tells what was asked before it; a warning where a block names what is not behind it."""
    asked: list[nodes.raw] = []
    found: set[tuple[str, str]] = set()
    for node in list(order(doctree, nodes.raw)):
        if ASKED in node or DRAWN in node:
            asked.append(node)
        elif shown := shows(node):
            found |= {(name(block), shown) for block in asked if names(block, node, shown)}
            if waits := [name(block) for block in asked if tells(node, shown, block)]:
                node.parent.replace(node, covered(node, waits))
    for block in asked:
        warn(block, [one for one in block.get(COVERS, ()) if (name(block), one) not in found])


def shows(node: nodes.raw) -> str | None:
    """A chart's name, or the kind of another widget; None for what is neither."""
    html = node.astext()
    kind = re.search(r'<div class="bim-mount" data-kind="(\w+)"', html)
    return chart_name(html) or (kind and kind[1])


def names(block: nodes.raw, node: nodes.raw, shown: str) -> bool:
    """Does the block say that it covers this one?"""
    return shown in block.get(COVERS, ()) and (chart_name(node.astext()) is not None or near(block, node))


def tells(node: nodes.raw, shown: str, block: nodes.raw) -> bool:
    """Does it show the block's answer?"""
    if names(block, node, shown):
        return True
    if DRAWN in block:
        return shown == block[DRAWN][1]
    said = chart_name(node.astext()) is not None and near(block, node)
    return said and question(*block[ASKED]).told(unescape(node.astext()))


def warn(block: nodes.raw, missing: list[str]) -> None:
    """So that the build fails."""
    if missing:
        log.warning(
            "predict %s: behind it is no %s to cover",
            name(block),
            " and no ".join(missing),
            location=block,
            type="bim",
            subtype="predict",
        )


def name(block: nodes.raw) -> str:
    return block[DRAWN if DRAWN in block else ASKED][0]


def covered(chart: nodes.raw, waits: Iterable[str]) -> list[nodes.Node]:
    """The chart and its caption, or the widget, in a box that knows what they wait for."""
    blocks = escape(json.dumps(list(waits)))
    return [raw(f'<div class="bim-covers bim-covered" data-waits="{blocks}">'), chart, raw("</div>")]


def setup(app: Sphinx) -> dict[str, bool]:
    """When a page has been read."""
    app.connect("doctree-read", cover)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
