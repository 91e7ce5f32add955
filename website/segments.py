"""The allocator's segments in prose: a little program, stepped through without a kernel.

```{segments} a title
:mode: fixed
:limit: 40 MiB
:step: 3

a = 6 MiB
b = 3 MiB
del a
```

Instead of a program: `:lab:`, the widget of that title in the page's own lab, or `:recorded: article-cuda-like`, a recorded trace.
"""

import json
import re
from html import unescape
from pathlib import PurePosixPath
from typing import Any, ClassVar

from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from helpers.view.segments.spec import segments_spec
from helpers.view.segments.widget import segments_html
from website.lab import outputs
from website.widgets import WidgetDirective


class SegmentsDirective(WidgetDirective):
    """{segments} TITLE, and a program as its text"""

    has_content = True

    option_spec: ClassVar[dict[str, Any]] = {
        "step": directives.nonnegative_int,
        "lab": directives.flag,
        **dict.fromkeys(("mode", "limit", "recorded"), directives.unchanged_required),
    }

    def html(self) -> str:
        if "lab" in self.options:
            return shown(outputs(self.env, PurePosixPath(self.env.docname).name), self.arguments[0])
        how = {key: self.options[key] for key in ("mode", "limit", "step") if key in self.options}
        what = self.options.get("recorded") or "\n".join(self.content)
        return segments_html(segments_spec(what, label=self.arguments[0], **how))


def shown(stored: list[dict[str, Any]], label: str) -> str:
    """The mount that a lab saved under this title. ValueError naming those there are."""
    found = {}
    for output in stored:
        html = "".join(output["data"].get("text/html", ""))
        if match := re.search(r'data-kind="segments" data-spec="([^"]*)"', html):
            found[json.loads(unescape(match[1]))["label"]] = html
    if label not in found:
        raise ValueError(f"the lab shows no segments titled {label!r}; it shows: {', '.join(found) or 'none'}")
    return found[label]


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive; its script is written with the other widgets'."""
    app.add_directive("segments", SegmentsDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
