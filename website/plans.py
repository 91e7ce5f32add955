"""{plan}: a table of chapters with their labs, what each block of a lesson takes, and all of it; minutes are those of the cards.

```{plan}
The sum: ranks, ring
Two lines: memory-hierarchy
```
"""

from collections.abc import Iterator
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from website.chapters import Chapter, parts
from website.guess.asked import raw

log = logging.getLogger(__name__)
HEADS = ("", "Chapters, each with its lab", "Reading", "Labs")


class plan(nodes.Element):
    """Stands for a table until the minutes of all pages are known. blocks: (name, stems)."""


class PlanDirective(SphinxDirective):
    """{plan}: a line a block, its name and the stems of its chapters."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # another page's minutes change it
        lines = (line.partition(":") for line in self.content if line.strip())
        return [plan(blocks=[(name, [one.strip() for one in stems.split(",")]) for name, _, stems in lines])]


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the tables in their places; a stem that has no chapter with a lab is a warning, so the build fails."""
    chapters = {one.page.removeprefix("book/"): one for part in parts(app.env) for one in part.chapters if one.lab}
    for place in list(doctree.findall(plan)):
        for stem in (stem for _, stems in place["blocks"] for stem in stems if stem not in chapters):
            log.warning("a plan has chapters with labs, got %r", stem, location=docname, type="bim", subtype="plan")
        blocks = [(name, [chapters[stem] for stem in stems if stem in chapters]) for name, stems in place["blocks"]]
        place.replace_self(raw("".join(table(app, docname, blocks))))


def table(app: Sphinx, docname: str, blocks: list[tuple[str, list[Chapter]]]) -> Iterator[str]:
    """A row a block, and a last one with the sums."""
    takes = {page: app.env.metadata[page].get("minutes", 0) for page in app.env.found_docs}
    yield f'<table class="bim-plan"><thead><tr>{"".join(f"<th scope=col>{head}</th>" for head in HEADS)}</tr></thead><tbody>'
    all_read = all_labs = 0
    for name, ones in blocks:
        read, labs = sum(takes[one.page] for one in ones), sum(takes[one.lab] for one in ones)
        all_read, all_labs = all_read + read, all_labs + labs
        yield row(name, ", ".join(link(app, docname, one) for one in ones), read, labs)
    yield row("In all", told(all_read + all_labs), all_read, all_labs) + "</tbody></table>"


def link(app: Sphinx, docname: str, one: Chapter) -> str:
    return f'<a href="{escape(app.builder.get_relative_uri(docname, one.page))}">{escape(one.name)}</a>'


def row(name: str, what: str, read: float, labs: float) -> str:
    return f'<tr><th scope="row">{escape(name)}</th><td>{what}</td><td>{told(read)}</td><td>{told(labs)}</td></tr>'


def told(minutes: float) -> str:
    """ "45 min", "2 h", "2 h 5 min"."""
    hours, rest = divmod(round(minutes), 60)
    return " ".join([*([f"{hours} h"] if hours else []), *([f"{rest} min"] if rest or not hours else [])])


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive, and the tables once every page is known."""
    app.add_node(plan)
    app.add_directive("plan", PlanDirective)
    app.connect("doctree-resolved", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
