"""{progress}: how far the reader is in each chapter and lab, and all that the browser keeps as one file, to save, to open and to forget.

The build says what there is: every chapter with its lab, and how many guesses the two ask for; assets/guess/kept.js fills in the rest.
"""

import re
from collections.abc import Iterator
from html import escape
from pathlib import PurePosixPath

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from website.chapters import Chapter, parts
from website.guess.asked import raw
from website.guess.predict import OPENING

ASKED = re.compile(f'{OPENING}[^>]* id="guess-([^"]+)"')
HEADS = ("Chapter", "Read", "Lab read", "Guesses")
BUTTONS = (
    '<p class="bim-kept" hidden><button type="button">Save all as a file</button> '
    '<label>Open such a file <input type="file" accept=".json,application/json"></label> '
    '<button type="button">Forget all</button></p>'
    '<p class="bim-kept-said" role="status"></p>'
)


class progress(nodes.Element):
    """Stands for the table until all pages are read."""


class ProgressDirective(SphinxDirective):
    """{progress}"""

    def run(self) -> list[nodes.Node]:
        return [progress()]


def count(app: Sphinx, doctree: nodes.document) -> None:
    """Remember what the page just read asks for."""
    asked = (ASKED.match(node.astext()) for node in doctree.findall(nodes.raw))
    app.env.metadata[app.env.docname]["guesses"] = [found[1] for found in asked if found]


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the table in the place that was kept for it."""
    for place in list(doctree.findall(progress)):
        place.replace_self(raw("".join(table(app, docname)) + BUTTONS))


def table(app: Sphinx, docname: str) -> Iterator[str]:
    """A row a chapter that has a lab."""
    yield '<table class="bim-progress"><thead><tr>'
    yield from (f'<th scope="col">{head}</th>' for head in HEADS)
    yield "</tr></thead><tbody>"
    for one in (one for part in parts(app.env) for one in part.chapters if one.lab):
        href = escape(app.builder.get_relative_uri(docname, one.page))
        many = len(guesses(app.env, one))
        yield f'<tr data-page="{one.page}" data-lab="{one.lab}"><th scope="row"><a href="{href}">{escape(one.name)}</a></th>'
        yield f'<td>–</td><td>–</td><td data-stem="{PurePosixPath(one.page).name}">of {many}</td></tr>'
    yield "</tbody></table>"


def guesses(env: BuildEnvironment, chapter: Chapter) -> set[str]:
    """The names of those that a chapter and its lab ask for; a name in both is one guess."""
    return {name for page in (chapter.page, chapter.lab) for name in env.metadata[page].get("guesses", ())}


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive, and the table once every page is known."""
    app.add_node(progress)
    app.add_directive("progress", ProgressDirective)
    app.connect("doctree-read", count)
    app.connect("doctree-resolved", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
