"""Widgets without a kernel: their code and the schedules as plain scripts, and directives that put them into prose.

```{player} all_reduce ring
:nranks: 8
:nbytes: 64 MiB
:link: nvlink-4
:gpus: 4
:across: infiniband-ndr
:versus: hierarchical
```
Or, of a real run of the same schedule, `:recorded: trace-ring-cpu` instead of a size and links. All options: `player_spec`, `resolve`.

```{primitive} all_gather
:nranks: 4
:values: 1 2 3 4
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
from helpers.view.occupancy.widget import gpus
from helpers.view.player.widget import player_html, player_spec, resolve
from helpers.view.playground.widget import known
from helpers.view.primitive.widget import primitive_html, primitive_spec, primitives
from helpers.view.shared.bundle import plain_script
from helpers.view.shared.schedules.traces import catalogue, links, traces
from website.packing import packed
from website.scripts import call, write

log = logging.getLogger(__name__)

VIEW = Path(helpers.view.__file__).parent
SHARED = (VIEW / "shared" / "language.css", VIEW / "shared" / "drawing" / "drawing.css")
WIDGETS = ("player", "primitive", "playground", "memory", "segments", "occupancy", "warp", "calculator")


class WidgetDirective(SphinxDirective):
    """The same mount that a widget saves in a notebook; what the widget refuses is a warning, so the build fails."""

    required_arguments = 1
    final_argument_whitespace = True

    def html(self) -> str:
        """The mount of the argument and the options. ValueError on what cannot be shown."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        try:
            return [nodes.raw("", self.html(), format="html")]
        except ValueError as error:
            log.warning("%s: %s", self.name, error, location=self.get_location(), type="bim", subtype=self.name)
            return []


class PlayerDirective(WidgetDirective):
    """{player} COLLECTIVE ALGORITHM"""

    option_spec: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(("nranks", "nchunks", "slices", "gpus", "nics"), directives.positive_int),
        **dict.fromkeys(("root", "step"), directives.nonnegative_int),
        **dict.fromkeys(("nbytes", "link", "across", "versus", "recorded"), directives.unchanged_required),
    }

    def html(self) -> str:
        keys = ("nranks", "root", "nchunks", "slices", "gpus", "nbytes", "link")
        which = {key: self.options[key] for key in keys if key in self.options}
        how = {key: self.options[key] for key in self.options if key not in keys[:4]}
        return player_html(player_spec(resolve(self.arguments[0], **which), **how))


class PrimitiveDirective(WidgetDirective):
    """{primitive} NAME"""

    option_spec: ClassVar[dict[str, Any]] = {
        "nranks": directives.positive_int,
        "root": directives.nonnegative_int,
        "values": directives.unchanged_required,
        "op": directives.unchanged_required,
    }

    def html(self) -> str:
        return primitive_html(primitive_spec(self.arguments[0], **self.options))


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
    for sheet in SHARED:
        files[f"widgets/{sheet.name}"] = sheet.read_text(encoding="utf-8")
    return files


def schedule_scripts() -> dict[str, str]:
    """One script per algorithm with every trace that a page may ask for, and one that lists them, the links and the primitives."""
    entries = catalogue()
    index = {"catalogue": entries, "links": links(), "primitives": primitives(), "playground": known(), "gpus": gpus()}
    files = {"schedules/index.js": "".join(call(name, value) for name, value in index.items())}
    for entry in entries:
        key = entry["collective"], entry["algorithm"]
        found = {name: {**one, "text": packed(one["text"])} for name, one in traces(*key).items()}
        files[f"schedules/{'/'.join(key)}.js"] = call("schedules", *key, found)
    return files


def setup(app: Sphinx) -> dict[str, bool]:
    """The directives, and the scripts once the pages are written."""
    app.add_directive("player", PlayerDirective)
    app.add_directive("primitive", PrimitiveDirective)
    app.connect("build-finished", write_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
