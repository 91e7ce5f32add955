"""The line under every title: how long it takes, what comes first, its lab; and folded in it what you will be able to do, and on what.

How long it is to read is counted, at PACE words a minute, prose and code alike; what a cell prints is not read word by word.

Front matter of a page, or metadata of a notebook:

    description: One sentence for people who search.
    card:
      able: [Count the bytes a ring moves, Say when a ring is the wrong choice]
      run: 2                      # minutes, until records of the lab tell them; leave it out where nothing runs
      hardware: a laptop
      needs: [book/units, plain text works too]
"""

import json
import re
from collections.abc import Container
from pathlib import PurePosixPath
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from website.lab_runs import lasts, longest, ran

log = logging.getLogger(__name__)

PACE = 200
LINE = ("Read", "Run", "First", "Lab", "Chapter")  # the rows that stand open
REQUIRED = {"able", "hardware"}
UNREAD = (nodes.raw, nodes.comment, nodes.math_block)
OPTIONAL = {"run", "needs"}
Row = tuple[str, nodes.paragraph]
PAIRS = {"book": ("notebooks", "Lab"), "notebooks": ("book", "Chapter")}


def add_card(app: Sphinx, doctree: nodes.document) -> None:
    """Put the card of the page just read under its title; the front page may go without.

    Another's that is missing, or an odd one, is a warning, so the build fails.
    """
    docname = app.env.docname
    front = app.env.metadata[docname].get("card")
    title = next(doctree.findall(nodes.title), None)
    if front is None and docname == app.config.root_doc:
        return
    if front is None or title is None:
        log.warning("front matter needs a `card` and the page a title", location=docname, type="bim", subtype="card")
        return
    try:
        card = read_card(json.loads(front) if isinstance(front, str) else front)
        runs, lasting = ran(app.env), lasts(app.env)
    except ValueError as error:
        log.warning("%s", error, location=docname, type="bim", subtype="card")
        return
    runs_for = (longest(app.env) or card.get("run", 0)) if docname.startswith("notebooks/") else 0
    app.env.metadata[docname]["minutes"] = minutes(doctree) + runs_for  # what a plan counts
    read = ("Read", prose(f"{minutes(doctree)} min"))
    rows = [read, *facts(card, lasting, docname, named(app)), *runs, *own_file(app.env)]
    title.parent.insert(title.parent.index(title) + 1, draw_card(card["able"], rows))


def read_card(card: Any) -> dict[str, Any]:
    """The card, checked: every key known, none missing, minutes as numbers. Raises ValueError."""
    if not isinstance(card, dict):
        raise ValueError(f"card: expected keys and values, got {card!r}")
    if missing := REQUIRED - card.keys():
        raise ValueError(f"card: missing {', '.join(sorted(missing))}")
    if unknown := card.keys() - REQUIRED - OPTIONAL:
        raise ValueError(f"card: unknown {', '.join(sorted(unknown))}; known: {', '.join(sorted(REQUIRED | OPTIONAL))}")
    if "run" in card and not (isinstance(card["run"], (int, float)) and card["run"] > 0):
        raise ValueError(f"card: run is {card['run']!r}, expected minutes as a number")
    if not (isinstance(card["able"], list) and card["able"]):
        raise ValueError(f"card: able is {card['able']!r}, expected a list of what the reader can do afterwards")
    return card


def minutes(doctree: nodes.Node) -> int:
    """How long all that a page says is to read, at least one minute."""
    return max(1, round(words(doctree) / PACE))


def words(node: nodes.Node) -> int:
    """Words of a text and of all that stands in it."""
    if isinstance(node, nodes.Text):
        return len(node.split())
    if isinstance(node, UNREAD) or (isinstance(node, nodes.Element) and "cell_output" in node["classes"]):
        return 0
    return sum(map(words, node.children))


def draw_card(able: list[str], rows: list[Row]) -> nodes.container:
    """The card as document nodes, so that its links are checked like any other."""
    items = nodes.bullet_list("", *(nodes.list_item("", prose(item)) for item in able))
    folded = [row for row in rows if row[0] not in LINE]
    fields = [nodes.field("", nodes.field_name("", name), nodes.field_body("", body)) for name, body in folded]
    line = nodes.paragraph("", "", *(part for row in rows if row[0] in LINE for part in in_line(*row)))
    box = nodes.container(classes=["bim-card"])
    box += [
        line,
        raw("<details><summary>Afterwards you can</summary>"),
        items,
        nodes.field_list("", *fields),
        raw("</details>"),
    ]
    return box


def in_line(name: str, body: nodes.paragraph) -> list[nodes.Node]:
    """A row as a piece of a line."""
    return [nodes.inline("", "", nodes.inline("", name), nodes.Text(" "), *body.children), nodes.Text(" ")]


def raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


def named(app: Sphinx) -> dict[str, str]:
    """All pages, each with the name that _toc.yml gives it, "" where that is its title."""
    toc = app.config.external_site_map
    return {name: (name in toc and toc[name].title) or "" for name in app.env.found_docs}


def facts(card: dict[str, Any], lasting: str, docname: str, names: dict[str, str]) -> list[Row]:
    """The card's second column: minutes to run, as its records say them, hardware, what comes first, and the other half of the pair."""
    rows: list[Row] = []
    if lasting or "run" in card:
        rows.append(("Run", prose(lasting or f"{card['run']} min")))
    rows.append(("Runs on", prose(card["hardware"])))
    label, target = other_half(docname, names) or ("", "")
    if needs := [need for need in as_list(card.get("needs", [])) if need != target]:  # the chapter has a row of its own
        rows.append(("First", joined([link(need, names[need]) if need in names else prose(need) for need in needs])))
    if target:
        rows.append((label, link(target, names[target])))
    return rows


def own_file(env: BuildEnvironment) -> list[Row]:
    """For a notebook: a link that downloads it."""
    path = PurePosixPath(env.doc2path(env.docname, base=False))
    if path.suffix != ".ipynb":
        return []
    download = addnodes.download_reference("", "", nodes.literal("", path.name), reftarget=path.name)
    download["filename"] = env.dlfiles.add_file(env.docname, str(path))
    return [("Download", nodes.paragraph("", "", download))]


def other_half(docname: str, docs: Container[str]) -> tuple[str, str] | None:
    """A chapter's lab or a lab's chapter: the page of the same stem in the other folder."""
    path = PurePosixPath(docname)
    folder, label = PAIRS.get(path.parent.name, ("", ""))
    target = f"{folder}/{path.name}"
    return (label, target) if folder and target in docs else None


def as_list(value: Any) -> list[Any]:
    """One value or several, always as a list."""
    return value if isinstance(value, list) else [value]


def joined(paragraphs: list[nodes.paragraph]) -> nodes.paragraph:
    """Several short paragraphs as one, with commas."""
    out = nodes.paragraph()
    for i, paragraph in enumerate(paragraphs):
        out += [nodes.Text(", ")] * (i > 0) + paragraph.children
    return out


def link(docname: str, name: str = "") -> nodes.paragraph:
    """A paragraph that is a link to a page by its name, or else its title."""
    ref = addnodes.pending_xref(
        "", refdomain="std", reftype="doc", reftarget=f"/{docname}", refexplicit=bool(name), refwarn=True
    )
    ref += nodes.inline("", name or docname)
    return nodes.paragraph("", "", ref)


def prose(text: Any) -> nodes.paragraph:
    """A line of text in which `code` and $math$ may stand."""
    out = nodes.paragraph()
    for part in re.split(r"(`[^`]+`|\$[^$]+\$)", str(text)):
        kind = {"`": nodes.literal, "$": nodes.math}.get(part[:1], nodes.Text)
        out += kind(part) if kind is nodes.Text else kind("", part[1:-1])
    return out


def setup(app: Sphinx) -> dict[str, bool]:
    """After a page is read and before its links are resolved."""
    app.connect("doctree-read", add_card, priority=600)  # 500 is where the front matter is collected
    return {"parallel_read_safe": True, "parallel_write_safe": True}
