"""Small figures inside the prose, and words that light their marks.

```{sketch} follow all_reduce ring
:nranks: 4
Chunk 0 comes to every rank twice: first {mark}`rank 2` adds its own, then it keeps a copy.
```

What a sketch shows and takes: `helpers/view/sketch`. The text stands beside it. A word of the role `mark` names what it lights, "rank 2",
"chunk 0", "alpha" or "beta", or says so behind itself: {mark}`the leaves <rank 3, rank 4>`. A mark that no sketch of the page has is a
warning, so the build fails. Without scripts and on paper the picture is whole and the words are words.
"""

import re
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from helpers.view.sketch.page import OPTIONS, closing, marks_of, opening, sketch

log = logging.getLogger(__name__)
MARK = re.compile(r"(rank|chunk) \d+|alpha|beta")
WORDS = re.compile(r"(?P<text>.+?)\s*<(?P<marks>[^<>]+)>", re.DOTALL)
MARKS = "marks"  # of a node: which marks it has, or lights


class SketchDirective(SphinxDirective):
    """{sketch} KIND WHAT: a picture that is drawn here; what cannot be drawn is a warning, so the build fails."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = OPTIONS

    def run(self) -> list[nodes.Node]:
        try:
            drawn = sketch(self.arguments[0], self.options)
        except ValueError as error:
            log.warning("sketch: %s", error, location=self.get_location(), type="bim", subtype="sketch")
            return []
        name = f"sketch-{self.env.new_serialno('sketch')}"
        words = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, words)
        first = nodes.raw("", opening(drawn, name), format="html")
        first[MARKS] = sorted(marks_of(drawn))
        return [first, *words.children, nodes.raw("", closing(drawn, name), format="html")]


class MarkRole(SphinxRole):
    """{mark}`rank 2`: the words with the colour and the shape of what they name in the page's sketches."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        try:
            said, names = meant(self.text)
        except ValueError as error:
            log.warning("mark: %s", error, location=self.get_location(), type="bim", subtype="mark")
            return [nodes.Text(self.text)], []
        word = nodes.inline("", said, classes=worn(names))
        word[MARKS] = [name.replace(" ", "-") for name in names]
        return [word], []


def meant(text: str) -> tuple[str, list[str]]:
    """("the leaves", ["rank 3", "rank 4"]) of "the leaves <rank 3, rank 4>". ValueError naming what is no mark."""
    found = WORDS.fullmatch(text)
    said, told = (found["text"], found["marks"]) if found else (text, text)
    names = [name.strip().lower() for name in told.split(",")]
    if wrong := [name for name in names if not MARK.fullmatch(name)]:
        raise ValueError(f"{wrong[0]!r} is no mark: expected rank 2, chunk 0, alpha or beta")
    return said, names


def worn(names: list[str]) -> list[str]:
    """The classes of a word: its shape, a rank's colour where it names one alone, and each mark that it lights."""
    shape, _, number = names[0].partition(" ")
    colour = [f"bim-r{int(number) % 8}" if len(names) == 1 else "bim-word-several"] if shape == "rank" else []
    return ["bim-word", f"bim-word-{shape}", *colour, *(f"bim-is-{name.replace(' ', '-')}" for name in names)]


def missing(doctree: nodes.document) -> list[tuple[nodes.Node, str]]:
    """The words whose mark no sketch of the page has, and that mark."""
    sketches = [node[MARKS] for node in doctree.findall(nodes.raw) if MARKS in node]
    there = {name for names in sketches for name in names}
    words = [(word, set(word[MARKS]) - there) for word in doctree.findall(nodes.inline) if MARKS in word]
    return [(word, min(gone)) for word, gone in words if gone]


def check_marks(app: Sphinx, doctree: nodes.document) -> None:
    """A warning for each such word."""
    for word, name in missing(doctree):
        log.warning("mark: no sketch of the page has %s", name, location=word, type="bim", subtype="mark")


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive and the role."""
    app.add_directive("sketch", SketchDirective)
    app.add_role("mark", MarkRole())
    app.connect("doctree-read", check_marks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
