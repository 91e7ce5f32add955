"""The memory calculator in prose, no kernel; and its lists, which the page loads where one is shown.

```{calculator} Llama-2-7B
:batch: 1
:seq: 4096
:checkpoint: full
:zero: 3
:data: 8
:device: H100
```

```{calculator} Llama-3-8B
:mode: serve
:batch: 16
```
"""

from typing import Any, ClassVar

from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from helpers.view.calculator.forms import forms
from helpers.view.calculator.widget import calculator_html, calculator_spec
from website.scripts import call, write
from website.widgets import WidgetDirective


class CalculatorDirective(WidgetDirective):
    """{calculator} MODEL"""

    option_spec: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(("batch", "seq", "data", "tensor", "width", "cache"), directives.positive_int),
        **dict.fromkeys(
            ("mode", "device", "precision", "optimizer", "attention", "checkpoint"), directives.unchanged_required
        ),
        "zero": directives.nonnegative_int,
        "sequence": lambda argument: directives.flag(argument) is None,
    }

    def html(self) -> str:
        return calculator_html(calculator_spec(self.arguments[0], **self.options))


def write_forms(app: Sphinx, exception: Exception | None) -> None:
    """All lists, as one script for the shim."""
    write(app, exception, {"calculator/forms.js": call("calculator", forms())})


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive and its data; its script is written with the other widgets'."""
    app.add_directive("calculator", CalculatorDirective)
    app.connect("build-finished", write_forms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
