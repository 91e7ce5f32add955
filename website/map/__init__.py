"""One drawing from a register to another rack on which every chapter has its place, and a strip of it under every title.

```{map}
```

The directive puts the whole of it into a page; a book that has it is held to a place for every chapter.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from website.chapters import Chapter, parts
from website.map.figure import figure
from website.map.places import faults, scales
from website.map.strip import strip

log = logging.getLogger(__name__)
HERE = '<div class="bim-map-here"></div>'  # what the directive leaves, until every page's name is known


class MapDirective(SphinxDirective):
    """{map}: the whole map; without arguments."""

    def run(self) -> list[nodes.Node]:
        self.env.metadata[self.env.docname]["bim-map"] = True
        return [nodes.raw("", HERE, format="html")]


def put(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """The whole map where a page asked for it, else the strip under the title."""
    body, link = context.get("body", ""), context["pathto"]
    whole = shown_on(app.env)
    if doctree is None or not whole:
        return
    chapters = by_page(app.env)
    if HERE in body:
        context["body"] = body.replace(HERE, figure(scales(), chapters, link))
    else:
        context["body"] = body.replace("</h1>", "</h1>" + strip(scales(), chapters, pagename, whole, link), 1)


def by_page(env: BuildEnvironment) -> dict[str, Chapter]:
    """Every chapter in the book's order, by its page."""
    return {one.page: one for part in parts(env) for one in part.chapters}


def shown_on(env: BuildEnvironment) -> str:
    """The page that has the map, "" where none has."""
    return next((page for page, said in env.metadata.items() if "bim-map" in said), "")


def hold(app: Sphinx, env: BuildEnvironment) -> None:
    """A chapter without a place, or a place without a chapter, is a warning, so the build fails."""
    if page := shown_on(env):
        for fault in faults(by_page(env)):
            log.warning("%s", fault, location=page, type="bim", subtype="map")


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive; the map and the strips before the theme asks which styles a page needs."""
    app.add_directive("map", MapDirective)
    app.connect("env-check-consistency", hold)
    app.connect("html-page-context", put, priority=800)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
