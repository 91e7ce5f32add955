"""The table of algorithms, generated: what each builder of the catalogue says of itself, counted at one number of ranks.

```{algorithms} all_reduce
```
"""

import re
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from helpers.collectives import CATALOGUE, about
from helpers.collectives.ports import pieces
from helpers.facts import USERS
from helpers.view.player.widget import player_spec, resolve

log = logging.getLogger(__name__)

HEADS = ("Algorithm", "Steps", "Moves", "At {} ranks", "Bottleneck", "Used by")
NAMES = re.compile("|".join(map(re.escape, sorted(USERS, key=len, reverse=True))))
TEX = {"⌈": r"\lceil ", "⌉": r"\rceil ", "⌊": r"\lfloor ", "⌋": r"\rfloor ", "log2": r"\log_2 ", "min": r"\min "}
SIGNS = re.compile("|".join(TEX))
FIELDS = ("collective", "algorithm", "link", "nranks", "root", "nchunks", "slices", "nbytes")


class AlgorithmsDirective(SphinxDirective):
    """{algorithms} COLLECTIVE: a row per algorithm; its name is the link that shows it in the page's first player."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"nranks": directives.positive_int}

    def run(self) -> list[nodes.Node]:
        names = [algorithm for collective, algorithm in CATALOGUE if collective == self.arguments[0]]
        if not names:
            known = ", ".join(dict.fromkeys(collective for collective, _ in CATALOGUE))
            said = f"algorithms: unknown collective {self.arguments[0]!r}: expected one of {known}"
            log.warning("%s", said, location=self.get_location(), type="bim", subtype="algorithms")
            return []
        nranks = self.options.get("nranks", 8)
        rows = [self._row(self.arguments[0], algorithm, nranks) for algorithm in names]
        return [table([head.format(nranks) for head in HEADS], rows)]

    def _row(self, collective: str, algorithm: str, nranks: int) -> list[list[nodes.Node]]:
        said = about(CATALOGUE[collective, algorithm])
        link = nodes.reference("", algorithm, refuri=permalink(collective, algorithm, nranks))
        name = [nodes.paragraph("", "", link), nodes.paragraph("", "", *self._chapter(said.chapter))]
        forms = [[nodes.paragraph("", "", nodes.math("", tex(str(form))))] for form in (said.steps, said.moves)]
        counts = [nodes.paragraph(text=text) for text in counted(collective, algorithm, nranks)]
        return [name, *forms, counts, [nodes.paragraph(text=said.bottleneck)], [sourced(said.used_by)]]

    def _chapter(self, stem: str) -> list[nodes.Node]:
        """A link to the chapter, or its name while it is not written."""
        if f"book/{stem}" not in self.env.found_docs:
            return [nodes.Text("chapter to come")]
        attributes = {"refdomain": "std", "reftype": "doc", "reftarget": f"/book/{stem}", "refexplicit": True}
        return [addnodes.pending_xref("", nodes.inline("", "chapter"), refdoc=self.env.docname, **attributes)]


def permalink(collective: str, algorithm: str, nranks: int) -> str:
    """The address of a state of the first player on the page, as the player itself writes it."""
    spec = player_spec(resolve((collective, algorithm), nranks))
    fields = [f"{name}-{value}" for name in FIELDS if (value := getattr(spec, name)) is not None]
    return "--".join(["#player-0", *fields, "step-0"])


def counted(collective: str, algorithm: str, nranks: int) -> tuple[str, ...]:
    """("14 steps", "1.75 N"), and S where there are chunks to choose: counted on the schedule itself."""
    build = CATALOGUE[collective, algorithm]
    s = build(nranks)
    cut = (f"with S = {s.nchunks}",) if "S" in str(about(build).steps) else ()
    return *sized(len(s.steps), max(s.sent() + s.received()) / pieces(s)), *cut


def sized(steps: int, moves: float) -> tuple[str, str]:
    """("14 steps", "1.75 N")."""
    return f"{steps} step{'s' * (steps != 1)}", f"{f'{moves:.3f}'.rstrip('0').rstrip('.')} N"


def tex(form: str) -> str:
    """A closed form as TeX: ⌈log2 P⌉ with its brackets and its index, the names of functions upright."""
    text = re.sub(r"\^⌊([^⌋]*)⌋", r"^{⌊\1⌋}", form)
    text = re.sub(r"\b(ones|folded|early)\b", r"\\operatorname{\1}", text)
    text = re.sub(r"(?<![a-z}])(\([^()]{1,5}\))(?![/(])", r"{\1}", text)  # no line breaks inside (P-1)
    return SIGNS.sub(lambda found: TEX[found[0]], text)


def sourced(text: str) -> nodes.paragraph:
    """Who uses it, each name a link to the place that says so."""
    parts, end = [], 0
    for name in NAMES.finditer(text):
        source = USERS[name[0]]
        parts += [nodes.Text(text[end : name.start()])]
        parts += [nodes.reference("", name[0], refuri=source.url, reftitle=source.title)]
        end = name.end()
    return nodes.paragraph("", "", *parts, nodes.Text(text[end:]))


def table(heads: list[str], rows: list[list[list[nodes.Node]]]) -> nodes.table:
    """A docutils table of cells that are lists of nodes."""
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in heads), cols=len(heads))
    group += nodes.thead("", row([[nodes.paragraph(text=head)] for head in heads]))
    group += nodes.tbody("", *map(row, rows))
    return nodes.table("", group, classes=["bim-algorithms", "colwidths-auto"])


def row(cells: list[list[nodes.Node]]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", *cell) for cell in cells))


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive."""
    app.add_directive("algorithms", AlgorithmsDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
