"""The playground in prose: draw a schedule, check it, no kernel.

```{playground} broadcast
:nranks: 8
```

```{playground} all_reduce_both
```

```{playground} all_reduce
:nranks: 2
:nchunks: 1

0:0⇒1
0:1→0
```
"""

from typing import Any, ClassVar

from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from helpers.collectives import Schedule
from helpers.view.playground.widget import SIZES, begun, playground_html, playground_spec
from website.widgets import WidgetDirective


class PlaygroundDirective(WidgetDirective):
    """{playground} COLLECTIVE, COLLECTIVE ALGORITHM to start from, or the name of a target; steps of one's own as its text"""

    has_content = True

    option_spec: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(("nranks", "nchunks"), directives.positive_int),
        **dict.fromkeys(("root", "step"), directives.nonnegative_int),
        **dict.fromkeys(("nbytes", "link", "target"), directives.unchanged_required),
    }

    def html(self) -> str:
        what = self.arguments[0]
        shape = {"nranks": 4} | {key: self.options[key] for key in ("nranks", "nchunks", "root") if key in self.options}
        state = {"target": what} if what in SIZES else {}
        state |= {key: self.options[key] for key in ("nbytes", "link", "step", "target") if key in self.options}
        schedule = begun(what, **shape)
        if self.content:
            schedule = Schedule.parse("\n".join([str(schedule).splitlines()[0], *self.content]))
        return playground_html(playground_spec(schedule, **state))


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive; its script is written with the other widgets'."""
    app.add_directive("playground", PlaygroundDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
