"""What the search page looks in: every section of every page as plain text, and the words that mean the same, as one script.

It is loaded by the search page alone, from a server or from a folder; excerpts come out of it, so nothing else is fetched.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from website.scripts import call, write

SYNONYMS = Path(__file__).with_name("synonyms.toml")
SILENT = (nodes.comment, nodes.raw, nodes.math, nodes.math_block, nodes.image, nodes.substitution_definition)
# What a lab's cells left behind, numbers and traces, and the list of recorded files: nobody searches for them.
LISTS = {"cell_output", "bim-recorded-runs"}
ASIDE = ("Exercises", "Sources", "With a pencil")
WARNINGS = "bim-warnings"  # of a list of NCCL's lines only these are looked for, as code is


def sections(document: nodes.document) -> Iterator[tuple[str, str, nodes.Element]]:
    """(anchor, heading, section) in order: the label before a heading, else the heading's own; the page's own section has ""."""
    found = list(document.findall(nodes.section))
    for position, section in enumerate(found):
        title = section.next_node(nodes.title)
        yield (section["ids"][-1] if position else "", title.astext() if title else "", section)


def words(section: nodes.Element) -> tuple[str, str]:
    """The prose and the code of a section, without those of the sections in it."""
    prose, code = [], []
    open_ = list(reversed(section.children))
    while open_:
        node = open_.pop()
        classes = getattr(node, "attributes", {}).get("classes", ())
        if isinstance(node, (nodes.section, nodes.title, *SILENT)) or LISTS & {*classes}:
            continue
        if WARNINGS in classes:
            code += [term.astext() for term in node.findall(nodes.term)]
        elif isinstance(node, nodes.literal_block):
            code.append(node.astext())
        elif isinstance(node, nodes.TextElement):
            prose.append("".join(leaf.astext() for leaf in node.findall(nodes.Text) if not _silent(leaf, node)))
        else:
            open_ += reversed(node.children)
    return " ".join(" ".join(prose).split()), " ".join(" ".join(code).split())


def _silent(leaf: nodes.Text, top: nodes.Element) -> bool:
    node = leaf.parent
    while node is not top:
        if isinstance(node, SILENT):
            return True
        node = node.parent
    return False


def entries(env: BuildEnvironment) -> list[dict]:
    """One entry a section: page (address), title of the page, at (anchor), heading, text, code, aside; pages by name."""
    found = []
    for name in sorted(env.found_docs):
        title = env.titles[name].astext()
        for at, heading, section in sections(env.get_doctree(name)):
            text, code = words(section)
            text = text if at else f"{env.metadata[name].get('description', '')} {text}".strip()
            one = {"page": f"{name}.html", "title": title, "at": at, "heading": heading, "text": text, "code": code}
            found.append(one | {"aside": 1} if aside(section) else one)
    return found


def aside(section: nodes.Element) -> bool:
    """Whether it stands in a page's exercises or sources."""
    open_ = section
    while isinstance(open_, nodes.section):
        if open_.next_node(nodes.title).astext().startswith(ASIDE):
            return True
        open_ = open_.parent
    return False


def write_index(app: Sphinx, exception: Exception | None) -> None:
    """Everything that search.js looks in, under _static/."""
    if exception is None and app.builder.format == "html":
        same = tomllib.loads(SYNONYMS.read_text(encoding="utf-8"))["same"]
        write(app, exception, {"search-index.js": call("search", entries(app.env), same)})


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the index when all pages are built."""
    app.connect("build-finished", write_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
