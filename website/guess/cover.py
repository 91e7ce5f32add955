"""The chart that shows what a block asks for: hidden in its place until the reader has guessed or looked (assets/guess/waiting.js).

The rule. Behind a block that has a curve drawn, the chart with that curve, wherever it stands; behind one that asks for a number, every
chart of its own section that says the number with its unit. Other pictures, players and timelines are for the reader to look at first.
"""

import json
from collections.abc import Iterable
from html import escape, unescape

from docutils import nodes
from sphinx.application import Sphinx

from website.guess.asked import ASKED, DRAWN, near, order, question, raw
from website.lab import chart_name


def cover(app: Sphinx, doctree: nodes.document) -> None:
    """Every chart that tells what was asked before it."""
    asked: list[nodes.raw] = []
    for node in list(order(doctree, nodes.raw)):
        if ASKED in node or DRAWN in node:
            asked.append(node)
        elif waits := [name(block) for block in asked if tells(node, block)]:
            node.parent.replace(node, covered(node, waits))


def tells(chart: nodes.raw, block: nodes.raw) -> bool:
    """Is it a chart, and does it show the block's answer?"""
    shown = chart_name(chart.astext())
    if shown is None or DRAWN in block:
        return shown is not None and shown == block[DRAWN][1]
    return near(block, chart) and question(*block[ASKED]).told(unescape(chart.astext()))


def name(block: nodes.raw) -> str:
    return block[DRAWN if DRAWN in block else ASKED][0]


def covered(chart: nodes.raw, waits: Iterable[str]) -> list[nodes.Node]:
    """The chart and its caption, in a box that knows what they wait for."""
    names = escape(json.dumps(list(waits)))
    return [raw(f'<div class="bim-covers bim-covered" data-waits="{names}">'), chart, raw("</div>")]


def setup(app: Sphinx) -> dict[str, bool]:
    """When a page has been read."""
    app.connect("doctree-read", cover)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
