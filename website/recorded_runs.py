"""The list of every recorded run, made from the files of recorded/ themselves, with the pages that show it.

```{recorded-runs} run
```
The argument is a kind of `helpers.records`; a file that is not whole fails the build.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path, PurePosixPath

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from helpers.records import Record, RecordError, records
from helpers.records.whole import KINDS
from website.hierarchy_table import table, text

log = logging.getLogger(__name__)
GROUPED, SINGLE = ("Run", "When", "Shown by"), ("Run", "On, by which command", "When", "Shown by")
# Of what reads runs for pages, not of what writes them.
CODE = ("helpers/facts", "helpers/nccl", "helpers/view", "helpers/measure/predict")
CHAPTERS = re.compile(r"(?:Chapters?|Pages?): ([a-z][\w ,-]*)\.")
FILLED = re.compile(r"f\\?\"([a-z][\w.-]{3,}\{[^\"]*\}[\w.-]*)\\?\"")
UNSTATED = "not stated"
NAME = "NAME"  # of the run, in a command that makes several


class RecordedRunsDirective(SphinxDirective):
    """{recorded-runs} KIND: a row per run of that kind."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        kind = self.arguments[0]
        try:
            if kind not in KINDS:
                raise ValueError(f"{kind!r} is no kind of recorded run: expected one of {', '.join(KINDS)}")
            found = [record for record in all_of(Path(self.env.srcdir, "recorded")) if record.kind == kind]
        except (ValueError, RecordError) as error:
            log.warning("%s", error, location=self.get_location(), type="bim", subtype="recorded")
            return []
        self.env.note_reread()  # a new file, or a page that begins to ask for one, changes the list
        return self.single(found) if kind == "published" else self.grouped(found)

    def grouped(self, found: list[Record]) -> list[nodes.Node]:
        """A table for each machine, versions and command, which are told above it."""
        groups: dict[tuple[str | None, str | None, str], list[Record]] = {}
        for record in found:
            groups.setdefault(made(record), []).append(record)
        told = ([above(*key), self.table(GROUPED, group, self.short)] for key, group in groups.items())
        return [one for pair in told for one in pair] or [nodes.paragraph(text="None yet.")]

    def single(self, found: list[Record]) -> list[nodes.Node]:
        """One table; each row with its own machine."""
        return [self.table(SINGLE, found, self.long)]

    def table(self, heads: tuple[str, ...], found: list[Record], row: Callable[[Record], list]) -> nodes.Node:
        return table("bim-recorded-runs", [[text(words)] for words in heads], [row(record) for record in found])

    def short(self, record: Record) -> list[list[nodes.Node]]:
        """A cell per column of GROUPED."""
        return [[code(record.path), text(record.what)], [when(record)], self.pages(record)]

    def long(self, record: Record) -> list[list[nodes.Node]]:
        """A cell per column of SINGLE."""
        source = nodes.paragraph("", "", nodes.reference("", record.title or "", refuri=record.url))
        on = [text(words) for words in (record.machine, record.versions) if words]
        command = [code(record.command)] if record.command else []
        first, what = [code(record.path), text(record.what), source], [when(record)]
        return [first, [*on, *command], what, self.pages(record)]

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


def made(record: Record) -> tuple[str | None, str | None, str]:
    """Machine, versions and the command, where the run's own name is NAME."""
    words = (record.command or "").split()
    return record.machine, record.versions, " ".join(NAME if word == record.name else word for word in words)


def above(machine: str | None, versions: str | None, command: str) -> nodes.paragraph:
    """ "AMD EPYC, 2 cores, 24 GiB; python 3.11.7, torch 2.13.0; made by `make notebooks`."."""
    on = "; ".join(part for part in (machine, versions) if part)
    return nodes.paragraph("", "", nodes.Text(f"{on}; made by "), nodes.literal("", command), nodes.Text(":"))


def when(record: Record) -> nodes.paragraph:
    """The day, in one line."""
    words, _, day = (record.date or UNSTATED).rpartition(" ")
    return nodes.paragraph("", "", nodes.Text(f"{words} " if words else ""), nodes.inline("", day, classes=["bim-day"]))


def code(words: str) -> nodes.paragraph:
    return nodes.paragraph("", "", nodes.literal("", words))


def shown_by(record: Record, root: Path, pages: frozenset[str]) -> list[str]:
    """The pages and labs that ask for the run by name, and the chapters of the modules that read it for them."""
    asked = asking(record)
    own = {name for name, words, made_up in texts(root) if name in pages and asks(asked, words, made_up, record.asked)}
    chapters = {
        f"book/{stem}" for words, stems in modules(root) if asks(asked, words, (), record.asked) for stem in stems
    }
    return sorted(own | (chapters & pages), key=lambda name: (PurePosixPath(name).name, name))


def asking(record: Record) -> re.Pattern:
    """How a source asks for it: by a directive, an option, a role, or its name in quotes; a trace of memory by a call."""
    name = re.escape(record.asked)
    call = r"(?:memory\(|recorded=)\\?" if record.kind == "memory" else ""
    quoted = rf"{call}[\"']{name}(?:\.json)?\\?[\"']"
    return re.compile(rf"^```{{memory}}.*(?<= ){name}(?= |$)|^:recorded: {name}$|{{recorded}}`{name}:|{quoted}", re.M)


def asks(asked: re.Pattern, words: str, made_up: tuple[str, ...], name: str) -> bool:
    """Whether a source asks for a run, or fills a part of its name in."""
    return bool(name in words and asked.search(words)) or any(re.fullmatch(one, name) for one in made_up)


def filled(words: str) -> tuple[str, ...]:
    """The names that a lab makes, as patterns: f"gpu-benches-{gpu}-l2", and by its device: record_of("ladder")."""
    by_device = set(re.findall(r"[\"']([a-z][a-z0-9-]+)\\?[\"']", words)) if "record_of(" in words else set()
    return (
        *(re.sub(r"\\{.*?\\}", r"[\\w.]+", re.escape(one)) for one in FILLED.findall(words)),
        *(f"{one}-[cg]pu" for one in sorted(by_device)),
    )


@lru_cache(maxsize=2)
def all_of(folder: Path) -> tuple[Record, ...]:
    """Every record, read once in a build."""
    return tuple(records(folder))


@lru_cache(maxsize=2)
def texts(root: Path) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Every page and lab with its source, and the names that it makes."""
    paths = [*sorted(root.glob("book/*.md")), *sorted(root.glob("notebooks/*.ipynb"))]
    read = ((path, path.read_text(encoding="utf-8")) for path in paths)
    return tuple((f"{path.parent.name}/{path.stem}", words, filled(words)) for path, words in read)


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
