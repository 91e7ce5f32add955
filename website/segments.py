"""The allocator's segments in prose: a little program, stepped through without a kernel.

```{segments} a title
:mode: fixed
:limit: 40 MiB
:step: 3

a = 6 MiB
b = 3 MiB
del a
```
"""

from typing import Any, ClassVar

from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from helpers.view.segments import segments_html
from helpers.view.segments_spec import segments_spec
from website.widgets import WidgetDirective


class SegmentsDirective(WidgetDirective):
    """{segments} TITLE, and a program as its text"""

    has_content = True

    option_spec: ClassVar[dict[str, Any]] = {
        "step": directives.nonnegative_int,
        **dict.fromkeys(("mode", "limit"), directives.unchanged_required),
    }

    def html(self) -> str:
        return segments_html(segments_spec("\n".join(self.content), label=self.arguments[0], **self.options))


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive; its script is written with the other widgets'."""
    app.add_directive("segments", SegmentsDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
