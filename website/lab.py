"""What a page quotes from a lab: the role {lab}`key` for a value that the lab kept, the directive {lab} for a chart or a longer text.

A page quotes its own lab, the notebook of the same stem; another one as {lab}`stem:key`. The stored outputs are the truth: nbval
holds them to the code, and a name that is not there is a warning, so the build fails.
"""

import json
import re
from html import unescape
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from helpers.view.shared.keep import MIME, SAID
from website.conventions import VALUE

log = logging.getLogger(__name__)


class LabRole(SphinxRole):
    """{lab}`key`: a short value, with the lab one click away."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        try:
            stem, key = locate(self.env, self.text)
            stored = outputs(self.env, stem)
            value = kept(stored).get(key)
            if value is None:
                raise KeyError(f"notebooks/{stem}.ipynb keeps no {key!r}")
        except (KeyError, OSError) as error:
            log.warning("lab: %s", error, location=self.get_location(), type="bim", subtype="key")
            return [nodes.literal("", self.text)], []
        said = {VALUE: kept(stored, SAID).get(key, {})}
        return [nodes.inline("", value, classes=["bim-lab"], **said)], []


class LabDirective(SphinxDirective):
    """{lab} NAME: a chart that the lab showed, with its caption; or a kept text, line by line."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        try:
            stem, name = locate(self.env, self.arguments[0])
            stored = outputs(self.env, stem)
            if name in (texts := kept(stored)):
                said = {VALUE: kept(stored, SAID).get(name, {})}
                return [nodes.literal_block("", texts[name], language="none", **said)]
            return [nodes.raw("", chart(stored, name), format="html")]
        except (KeyError, OSError) as error:
            log.warning("lab: %s", error, location=self.get_location(), type="bim", subtype="key")
            return []


def locate(env: BuildEnvironment, text: str) -> tuple[str, str]:
    """("ring", "key") of "ring:key", or of "key" on the page book/ring."""
    stem, _, key = text.strip().rpartition(":")
    return stem or PurePosixPath(env.docname).name, key


def outputs(env: BuildEnvironment, stem: str) -> list[dict[str, Any]]:
    """Every stored output of a lab, in order; the page is rebuilt when the lab changes."""
    path = Path(env.srcdir, "notebooks", f"{stem}.ipynb")
    env.note_dependency(str(path))
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [output for cell in cells for output in cell.get("outputs", []) if "data" in output]


def kept(stored: list[dict[str, Any]], what: str = MIME) -> dict[str, Any]:
    """All values that the lab kept, by name; or with SAID what they say beside their units."""
    return {name: value for output in stored for name, value in output["data"].get(what, {}).items()}


def chart(stored: list[dict[str, Any]], name: str) -> str:
    """The mount of the chart of that name and the caption that follows it. Raises KeyError naming those there are."""
    html = ["".join(output["data"].get("text/html", "")) for output in stored]
    names = [chart_name(text) for text in html]
    if name not in names:
        raise KeyError(f"the lab has no {name!r}; its charts: {', '.join(n for n in names if n) or 'none'}")
    at = names.index(name)
    return html[at] + (html[at + 1] if at + 1 < len(html) and 'class="bim-caption"' in html[at + 1] else "")


def chart_name(html: str) -> str | None:
    """The name in a chart's mount; None for any other output."""
    found = re.search(r'data-kind="chart" data-spec="([^"]*)"', html)
    return json.loads(unescape(found[1]))["name"] if found else None


def setup(app: Sphinx) -> dict[str, bool]:
    """The role and the directive."""
    app.add_role("lab", LabRole())
    app.add_directive("lab", LabDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
