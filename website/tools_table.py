"""A generated table: what other tools count, and why it is not what this course counts, from tools.toml.

```{tools} meshes
```
"""

import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from website.hierarchy_table import AcceleratorsDirective, table, text

TOOLS = tomllib.loads(Path(__file__).with_name("tools.toml").read_text())["tool"]
HEADS = ("Your tool", "What it counts", "Why ours differs, and what was seen")


class ToolsDirective(AcceleratorsDirective):
    """{tools} PAGE: the rows of that page; an unknown page is a warning, so the build fails."""

    def tables(self) -> list[nodes.Node]:
        (page,) = self.names(self.arguments, tuple(tool["page"] for tool in TOOLS))
        rows = [row(tool) for tool in TOOLS if tool["page"] == page]
        return [table("bim-counted", [[text(head)] for head in HEADS], rows)]


def row(tool: dict[str, str]) -> list[list[nodes.Node]]:
    """The tool with its version, what it counts, and both beside each other."""
    link = nodes.reference("", tool["name"], refuri=tool["url"])
    told = nodes.paragraph("", "", link, nodes.Text(f" {tool['version']}"))
    return [[told], [spelled(tool["counts"])], [spelled(f"Ours: {tool['ours']}"), spelled(f"Seen: {tool['seen']}")]]


def spelled(words: str) -> nodes.paragraph:
    """What stands between backticks is code."""
    parts = enumerate(words.split("`"))
    return nodes.paragraph("", "", *(nodes.literal("", part) if at % 2 else nodes.Text(part) for at, part in parts))


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive."""
    app.add_directive("tools", ToolsDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
