"""What a block asks for, where its own section goes on to say or to draw it: veiled until the reader has guessed or looked.

The words stay where they are, for search, for paper and for readers without scripts; assets/guess/predict.js takes the veil away.
"""

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx

MOUNT = '<div class="bim-mount" data-kind="chart"'
ASKED = "bim-asked"  # what predict.py leaves on a block's first node: name, answer, the lab's name of the answer


def veil(app: Sphinx, doctree: nodes.document) -> None:
    """Every block's answer in what follows it."""
    for block in list(doctree.findall(nodes.raw)):
        if ASKED in block:
            name, answer, kept = block[ASKED]
            for text in list(following(block)):
                # "12" is veiled where the lab's own value is cited; a 12 of the prose may count something else
                is_cited = kept and text.parent.get("kept") == kept
                replace(text, re.compile("(.+)") if is_cited else spoken(answer), name)
            for chart in [raw for raw in behind(block, nodes.raw) if kept and raw.get("kept") == kept]:
                html = chart.astext().replace(MOUNT, f'{MOUNT} data-answers="{name}"', 1)
                chart.parent.replace(chart, nodes.raw("", html, format="html"))


def behind(block: nodes.Node, kind: type[nodes.Node]) -> Iterator[nodes.Node]:
    """What is of a kind and follows a block in its section."""
    beside = block.parent.children
    for node in beside[beside.index(block) + 1 :]:
        yield from node.findall(kind)


def following(block: nodes.Node) -> Iterator[nodes.Text]:
    """The words behind a block; what is code, a heading or a formula says no answer."""
    says = nodes.paragraph | nodes.inline | nodes.strong | nodes.emphasis | nodes.reference
    return (text for text in behind(block, nodes.Text) if isinstance(text.parent, says))


def spoken(answer: str) -> re.Pattern[str]:
    """The answer as a word of its own, whichever spaces stand in it."""
    words = r"[ \xa0\u202f]".join(map(re.escape, answer.split()))
    return re.compile(rf"(?<![\w.,])({words})(?![\w%])")


def replace(text: nodes.Text, answer: re.Pattern[str], name: str) -> None:
    """The same words, the answer among them veiled."""
    parts = answer.split(str(text))
    if len(parts) > 1:
        told = [nodes.inline("", part, classes=["bim-veiled", f"bim-veiled-{name}"]) for part in parts[1::2]]
        kept = [nodes.Text(part) for part in parts[::2]]
        mixed = [node for pair in zip(kept, [*told, None], strict=True) for node in pair if node]
        text.parent.replace(text, mixed)


def setup(app: Sphinx) -> dict[str, bool]:
    """When a page has been read."""
    app.connect("doctree-read", veil)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
