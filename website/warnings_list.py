"""A generated list: what NCCL's warnings mean whose repair stands in a section of the page "repair".

```{warnings} shared-memory
```
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

from helpers.yours.logs.known import KNOWN, Known
from website.hierarchy_table import AcceleratorsDirective

CODE = re.compile(
    r"((?:docker|srun|sudo|systemctl|modprobe|ulimit)(?: (?:run|sysctl|enable|-{1,2}[\w=.-]+|[\w.]+=\w+|nv[\w-]+|\d+))+"
    r"|--[\w=-]+|[A-Z]{2,}_[A-Z0-9_]+(?:=[\w:^/.]*\w)?|/(?:dev|sys|etc)/[\w/]+|iommu=pt|nccl-\*|torch\.\S+)"
)
SECTIONS = tuple(dict.fromkeys(one.repair for one in KNOWN))


class WarningsDirective(AcceleratorsDirective):
    """{warnings} SECTION: a line as NCCL prints it; then the cause, the command that shows it, the cure, and where it was asked."""

    def tables(self) -> list[nodes.Node]:
        sections = self.names(self.arguments, SECTIONS)
        shown = [entry(one) for one in KNOWN if one.repair in sections]
        return [
            nodes.paragraph("", "What NCCL says of it:"),
            nodes.definition_list("", *shown, classes=["bim-warnings"]),
        ]


def entry(one: Known) -> nodes.definition_list_item:
    """A warning."""
    name = re.sub(r"^https://github\.com/(.+)/(?:issues|pull)/(\d+)$", r"\1#\2", one.thread)
    told = nodes.paragraph("", "", *spelled(f"{one.why[:1].upper()}{one.why[1:]}. "), nodes.literal("", one.check))
    told += [nodes.Text(" shows it. What helps: "), *spelled(one.cure), nodes.Text(" (")]
    told += [nodes.reference("", name, refuri=one.thread), nodes.Text(f"; {one.versions}).")]
    line = nodes.literal("", f"{one.place} {one.example}".strip())
    return nodes.definition_list_item("", nodes.term("", "", line), nodes.definition("", told))


def spelled(words: str) -> list[nodes.Node]:
    """Options, variables, paths and commands as code, in which no dash becomes another."""
    return [(nodes.literal if at % 2 else nodes.inline)("", part) for at, part in enumerate(CODE.split(words)) if part]


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive."""
    app.add_directive("warnings", WarningsDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
