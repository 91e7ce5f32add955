"""Widgets without a kernel, from the table `helpers.view.widgets`: a directive, a script and a sheet for each line, and what it looks up.

What a directive takes stands in the widget's own page.py. Every one also takes `:lab:`: the widget of that kind and title that
the page's own lab shows.
"""

import json
import re
from html import unescape
from pathlib import PurePosixPath
from typing import Any, ClassVar

import minify
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from helpers.view import widgets as table
from helpers.view.shared.bundle import plain_script
from helpers.view.shared.recorded import names, recorded_set
from helpers.view.shared.schedules.traces import catalogue, traces
from helpers.view.widgets import Widget
from website.lab import outputs
from website.packing import packed
from website.scripts import call, write

log = logging.getLogger(__name__)
# Of shared/page, for scripts that are no widgets: charts, and the cells of a page
PARTS = {"sheet": "tools.mjs", "loading": "python.mjs"}


class WidgetDirective(SphinxDirective):
    """The same mount that a widget saves in a notebook; what the widget refuses is a warning, so the build fails."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    widget: ClassVar[Widget]

    def html(self) -> str:
        """The mount of the argument, the options and the text. ValueError on what cannot be shown."""
        argument = " ".join(self.arguments)
        if "lab" in self.options:
            return shown(outputs(self.env, PurePosixPath(self.env.docname).name), self.widget.name, argument)
        return self.widget.page.html(argument, dict(self.options), "\n".join(self.content))

    def run(self) -> list[nodes.Node]:
        try:
            return [nodes.raw("", self.html(), format="html")]
        except ValueError as error:
            log.warning("%s: %s", self.name, error, location=self.get_location(), type="bim", subtype=self.name)
            return []


def directive(widget: Widget) -> type[WidgetDirective]:
    """The directive of a line of the table: where the example needs no argument, it may go without."""
    options = {**widget.page.OPTIONS, "lab": directives.flag}
    needed = int(bool(widget.example[0]))
    body = {"widget": widget, "option_spec": options, "required_arguments": needed, "optional_arguments": 1 - needed}
    return type(f"{widget.name.title()}Directive", (WidgetDirective,), body)


def shown(stored: list[dict[str, Any]], kind: str, label: str) -> str:
    """The mount of that kind and title that a lab saved. ValueError naming those there are."""
    found = {}
    for output in stored:
        html = "".join(output["data"].get("text/html", ""))
        if match := re.search(rf'data-kind="{kind}" data-spec="([^"]*)"', html):
            found[json.loads(unescape(match[1])).get("label")] = html
    if label not in found:
        titles = ", ".join(filter(None, found)) or "none"
        raise ValueError(f"the lab shows no {kind} titled {label!r}; it shows: {titles}")
    return found[label]


def sheet(path: str) -> str:
    """A sheet's address under _static/."""
    return f"widgets/{path.rpartition('/')[2]}"


def styles(widget: Widget) -> tuple[str, ...]:
    """The sheets of a page with this widget, in order."""
    return tuple(sheet(path.name) for path in widget.sheets)


def widget_files() -> dict[str, str]:
    """Each widget's modules as one small plain script, every sheet, and what each must know; the tokens are on every page already."""
    files = {}
    for name, module in PARTS.items():
        script = plain_script(table.SHARED / "page" / module, name)
        files[f"widgets/{name}.js"] = minify.string("application/javascript", script)
    for widget in table.mounted():
        script = plain_script(widget.entry, widget.name, tuple(widget.page.KNOWS))
        files[f"widgets/{widget.name}.js"] = minify.string("application/javascript", script)
        files |= {sheet(path.name): path.read_text(encoding="utf-8") for path in widget.sheets}
        told = widget.page.KNOWS | getattr(widget.page, "LATER", {})
        files |= {f"known/{name}.js": call("know", name, value()) for name, value in told.items()}
    return files


def looked_up() -> dict[str, str]:
    """What the shim loads when a widget asks: a script per algorithm with its traces, and one per recorded trace of memory."""
    keys = [(entry["collective"], entry["algorithm"]) for entry in catalogue()]
    files = {f"schedules/{'/'.join(key)}.js": call("schedules", *key, light(*key)) for key in keys}
    return files | {f"memory/{name}.js": call("memory", name, recorded_set(name)) for name in names()}


def light(collective: str, algorithm: str) -> dict[str, dict]:
    """Every trace of one algorithm, packed."""
    return {name: {**one, "text": packed(one["text"])} for name, one in traces(collective, algorithm).items()}


def write_scripts(app: Sphinx, exception: Exception | None) -> None:
    """Everything about widgets that the shim may load."""
    write(app, exception, {**widget_files(), **looked_up()})


def setup(app: Sphinx) -> dict[str, bool]:
    """The directives, and the scripts once the pages are written."""
    for widget in table.mounted():
        app.add_directive(widget.name, directive(widget))
    app.connect("build-finished", write_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
