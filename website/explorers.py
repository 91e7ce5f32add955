"""Two widgets about one SM in prose.

```{occupancy} A100
:threads: 256
:registers: 64
:shared: 16 KiB
```
```{warp} memory
:stride: 8
```
All options: `occupancy_spec`, `warp_spec`.
"""

from typing import Any, ClassVar

from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from helpers.units import UnitError, parse_nbytes
from helpers.view.occupancy.widget import occupancy_html, occupancy_spec
from helpers.view.warp.widget import warp_html, warp_spec
from website.widgets import WidgetDirective


class OccupancyDirective(WidgetDirective):
    """{occupancy} ACCELERATOR"""

    option_spec: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(("threads", "registers"), directives.nonnegative_int),
        "shared": directives.unchanged_required,
    }

    def html(self) -> str:
        options = dict(self.options)
        try:
            if "shared" in options:
                options["shared"] = parse_nbytes(options["shared"])
        except UnitError as error:
            raise ValueError(error) from None
        return occupancy_html(occupancy_spec(self.arguments[0], **options))


class WarpDirective(WidgetDirective):
    """{warp} VIEW"""

    option_spec: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(("taken", "other", "stride", "offset", "nbytes"), directives.nonnegative_int),
        "branch": directives.unchanged_required,
    }

    def html(self) -> str:
        return warp_html(warp_spec(self.arguments[0], **self.options))


def setup(app: Sphinx) -> dict[str, bool]:
    """Both directives; the scripts are written with those of the other widgets."""
    app.add_directive("occupancy", OccupancyDirective)
    app.add_directive("warp", WarpDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
