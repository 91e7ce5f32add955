"""Memory over time in prose: recorded traces by name, the first on show, the others to choose from; no kernel.

```{memory} llama-2-7b llama-2-7b-full
:limit: 80 GiB
:at: 1200
:axis: seconds
```
"""

from typing import Any, ClassVar

from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from helpers.units import parse_nbytes
from helpers.view.memory.spec import page_html
from helpers.view.shared.recorded import names, recorded_set
from website.scripts import call, write
from website.widgets import WidgetDirective


class MemoryDirective(WidgetDirective):
    """{memory} NAME [NAME ...] of recorded/memory/NAME.json"""

    option_spec: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(("at", "rank"), directives.nonnegative_int),
        **dict.fromkeys(("limit", "axis"), directives.unchanged_required),
    }

    def html(self) -> str:
        options = dict(self.options)
        if "limit" in options:
            options["limit"] = parse_nbytes(options["limit"])
        return page_html(self.arguments[0].split(), **options)


def write_traces(app: Sphinx, exception: Exception | None) -> None:
    """A script per recorded trace, which the shim loads when a widget shows it."""
    write(app, exception, {f"memory/{name}.js": call("memory", name, recorded_set(name)) for name in names()})


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive, and the traces once the pages are written."""
    app.add_directive("memory", MemoryDirective)
    app.connect("build-finished", write_traces)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
