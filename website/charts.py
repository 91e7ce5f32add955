"""Charts on pages: the colours of both themes for the shim, and a directive that shows a lab's chart in its chapter.

    ```{chart} ring::h100
    ```

means the figure that notebooks/ring.ipynb showed as `show(fig, "h100", caption)`, with its caption.
"""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from helpers.view.tokens import plotly_template, tokens
from website.scripts import call, write

log = logging.getLogger(__name__)
SPEC = re.compile(r'data-kind="chart" data-spec="([^"]*)"')


class ChartDirective(SphinxDirective):
    """{chart} STEM::NAME: the chart of that name from notebooks/STEM.ipynb, the same data, not a copy."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        stem, _, name = self.arguments[0].partition("::")
        notebook = Path(self.env.srcdir, "notebooks", f"{stem}.ipynb")
        self.env.note_dependency(str(notebook))
        try:
            html = find_chart(notebook, name)
        except ValueError as error:
            log.warning("chart: %s", error, location=self.get_location(), type="bim", subtype="chart")
            return []
        return [nodes.raw("", html, format="html")]


def find_chart(notebook: Path, name: str) -> str:
    """The mount of the chart and its caption, from a notebook's stored outputs. Raises ValueError naming the charts there are."""
    if not notebook.is_file():
        raise ValueError(f"no notebook {notebook.name}")
    charts = stored_charts(json.loads(notebook.read_text(encoding="utf-8")))
    if name not in charts:
        raise ValueError(f"no chart {name!r} in {notebook.name}; it shows: {', '.join(charts) or 'none'}")
    return charts[name]


def stored_charts(notebook: dict[str, Any]) -> dict[str, str]:
    """Every chart's HTML by its name; `show` stores the caption as the output that follows."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    htmls = ["".join(output.get("data", {}).get("text/html", "")) for output in outputs]
    charts = {}
    for html, caption in zip(htmls, [*htmls[1:], ""], strict=True):
        if found := SPEC.search(html):
            name = json.loads(unescape(found[1]))["name"]
            charts[name] = html + (caption if 'class="bim-caption"' in caption else "")
    return charts


def write_theme(app: Sphinx, exception: Exception | None) -> None:
    """Both templates of the charts, and for every colour of the light theme its twin in the dark one."""
    light, dark = tokens()["light"], tokens()["dark"]
    twins = {light[name].lower(): dark[name] for name in reversed(light) if light[name].startswith("#")}
    theme = {"light": plotly_template("light"), "dark": plotly_template("dark"), "dark_of": twins}
    write(app, exception, {"chart-theme.js": call("charts.theme", theme)})


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive, and the theme once the pages are written."""
    app.add_directive("chart", ChartDirective)
    app.connect("build-finished", write_theme)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
