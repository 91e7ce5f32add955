"""The list of every recorded run, made from the files of recorded/ themselves, with the pages that show it.

```{recorded-runs} run
```
The argument is a kind of `helpers.records`; a file that is not whole fails the build.
"""

import re
from functools import lru_cache
from pathlib import Path, PurePosixPath

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from helpers.records import FOLDER, Record, RecordError, records
from helpers.records.whole import KINDS
from website.hierarchy_table import table, text

log = logging.getLogger(__name__)
HEADS = ("Run", "On", "When, and by which command", "Shown by")
CODE = (
    "helpers/facts",
    "helpers/nccl",
    "helpers/view",
    "helpers/measure/predict",
)  # of what reads runs, not what writes them
CHAPTERS = re.compile(r"(?:Chapters?|Pages?): ([a-z][\w ,-]*)\.")
FILLED = re.compile(r"f\\?\"([a-z][\w.-]{3,}\{[^\"]*\}[\w.-]*)\\?\"")
UNSTATED = "not stated"


class RecordedRunsDirective(SphinxDirective):
    """{recorded-runs} KIND: a row per run of that kind."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        kind = self.arguments[0]
        try:
            if kind not in KINDS:
                raise ValueError(f"{kind!r} is no kind of recorded run: expected one of {', '.join(KINDS)}")
            found = [record for record in records(Path(self.env.srcdir, "recorded")) if record.kind == kind]
        except (ValueError, RecordError) as error:
            log.warning("%s", error, location=self.get_location(), type="bim", subtype="recorded")
            return []
        for record in found:
            self.env.note_dependency(str(FOLDER / record.path))
        if not found:
            return [nodes.paragraph(text="None yet.")]
        return [table("bim-recorded-runs", [[text(words)] for words in HEADS], [self.row(record) for record in found])]

    def row(self, record: Record) -> list[list[nodes.Node]]:
        """A cell per column."""
        name = nodes.paragraph("", "", nodes.literal("", record.path))
        what = nodes.paragraph(text=record.what)
        source = [nodes.paragraph("", "", nodes.reference("", record.title, refuri=record.url))] if record.url else []
        command = [nodes.paragraph("", "", nodes.literal("", record.command))] if record.command else []
        on = [text(words) for words in (record.machine, record.versions) if words] or [text(UNSTATED)]
        return [[name, what, *source], on, [text(record.date or UNSTATED), *command], self.pages(record)]

    def pages(self, record: Record) -> list[nodes.Node]:
        """A link to each page that shows it."""
        stems = shown_by(record, Path(self.env.srcdir), frozenset(self.env.found_docs))
        if not stems:
            return [text("no page")]
        links = [self.link(name) for name in stems]
        told = [part for link in links for part in (nodes.Text(", "), link)][1:]
        return [nodes.paragraph("", "", *told)]

    def link(self, name: str) -> nodes.Node:
        """A link to a page, by its name; a lab is told as one."""
        words = PurePosixPath(name).name + (" (lab)" if name.startswith("notebooks/") else "")
        attributes = {"refdomain": "std", "reftype": "doc", "reftarget": f"/{name}", "refexplicit": True}
        return addnodes.pending_xref("", nodes.inline("", words), refdoc=self.env.docname, **attributes)


def shown_by(record: Record, root: Path, pages: frozenset[str]) -> list[str]:
    """The pages and labs that ask for the run by name, and the chapters of the modules that read it for them."""
    if record.kind == "faults":
        return []
    asked = asking(record)
    own = {name for name, words in texts(root) if name in pages and (asked.search(words) or fills(words, record.name))}
    chapters = {f"book/{stem}" for words, stems in modules(root) if asked.search(words) for stem in stems}
    return sorted(own | (chapters & pages), key=lambda name: (PurePosixPath(name).name, name))


def asking(record: Record) -> re.Pattern:
    """How a source asks for it: by a directive, an option, a role, or its name in quotes; a trace of memory by a call."""
    name = re.escape(record.name)
    call = r"(?:memory\(|recorded=)\\?" if record.kind == "memory" else ""
    quoted = rf"{call}[\"']{name}(?:\.json)?\\?[\"']"
    return re.compile(rf"^```{{memory}}.*(?<= ){name}(?= |$)|^:recorded: {name}$|{{recorded}}`{name}:|{quoted}", re.M)


def fills(words: str, name: str) -> bool:
    """Whether a lab makes the name by filling a part of it in: f"gpu-benches-{gpu}-l2"."""
    made = (re.sub(r"\\{.*?\\}", r"[\\w.]+", re.escape(one)) for one in FILLED.findall(words))
    return any(re.fullmatch(one, name) for one in made)


@lru_cache(maxsize=2)
def texts(root: Path) -> tuple[tuple[str, str], ...]:
    """Every page and lab with its source."""
    paths = [*sorted(root.glob("book/*.md")), *sorted(root.glob("notebooks/*.ipynb"))]
    return tuple((f"{path.parent.name}/{path.stem}", path.read_text(encoding="utf-8")) for path in paths)


@lru_cache(maxsize=2)
def modules(root: Path) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Every module that reads runs for pages, and the chapters that it says it is for."""
    found = [path.read_text(encoding="utf-8") for folder in CODE for path in sorted(Path(root, folder).rglob("*.py"))]
    named = ((words, CHAPTERS.search(words)) for words in found)
    return tuple((words, tuple(re.split(r",\s*", told[1]))) for words, told in named if told)


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive."""
    app.add_directive("recorded-runs", RecordedRunsDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
