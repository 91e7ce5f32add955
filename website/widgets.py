"""Widgets without a kernel: their code and the schedules as plain scripts, and a directive that puts a player into prose.

```{player} all_reduce ring
:nranks: 4
:nbytes: 64 MiB
```
"""

from pathlib import Path
from typing import Any, ClassVar

import minify
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import helpers.view
from helpers.view.bundle import plain_script
from helpers.view.player import player_html, player_spec, resolve
from helpers.view.trace import catalogue, links, traces
from website.scripts import call, write

log = logging.getLogger(__name__)

VIEW = Path(helpers.view.__file__).parent
WIDGETS = ("player",)


class PlayerDirective(SphinxDirective):
    """{player} COLLECTIVE ALGORITHM: the same mount that the widget saves in a notebook."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {
        "nranks": directives.positive_int,
        "nchunks": directives.positive_int,
        "root": directives.nonnegative_int,
        "step": directives.nonnegative_int,
        "nbytes": directives.unchanged_required,
        "link": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        which = {key: self.options[key] for key in ("nranks", "root", "nchunks") if key in self.options}
        how = {key: self.options[key] for key in ("nbytes", "link", "step") if key in self.options}
        try:
            spec = player_spec(resolve(self.arguments[0], **which), **how)
        except ValueError as error:
            log.warning("player: %s", error, location=self.get_location(), type="bim", subtype="player")
            return []
        return [nodes.raw("", player_html(spec), format="html")]


def write_scripts(app: Sphinx, exception: Exception | None) -> None:
    """Everything about widgets that the shim may load."""
    write(app, exception, {**widget_files(), **schedule_scripts()})


def widget_files() -> dict[str, str]:
    """Each widget's modules as one small plain script, and its style sheet; the tokens are on every page already."""
    files = {}
    for name in WIDGETS:
        script = plain_script(VIEW / name / f"{name}.mjs", name)
        files[f"widgets/{name}.js"] = minify.string("application/javascript", script)
        files[f"widgets/{name}.css"] = (VIEW / name / f"{name}.css").read_text(encoding="utf-8")
    files["widgets/language.css"] = (VIEW / "language" / "language.css").read_text(encoding="utf-8")
    return files


def schedule_scripts() -> dict[str, str]:
    """One script per collective with every trace that a page may ask for, and one that lists them and the links."""
    entries = catalogue()
    files = {"schedules/index.js": call("catalogue", entries) + call("links", links())}
    for collective in dict.fromkeys(entry["collective"] for entry in entries):
        files[f"schedules/{collective}.js"] = call("schedules", collective, traces(collective))
    return files


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive, and the scripts once the pages are written."""
    app.add_directive("player", PlayerDirective)
    app.connect("build-finished", write_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
