"""What a script of findings/ says, where a reader would meet it: the question, what one would expect, what was seen, and the script itself.

```{finding} gloo_max_of_nan
```
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

log = logging.getLogger(__name__)


def told(name: str, script: str) -> str:
    """A script's first comment as a dropdown of the page."""
    comment = re.search(r"^#!.*\n((?:# .*\n)+)", script)[1]
    question, expected, seen = re.split(r" (?=Expected[,:]|Seen:)", " ".join(re.findall(r"^# (.*)", comment, re.M)))
    link = f"{{download}}`findings/{name}.sh </findings/{name}.sh>`"
    return f":::{{dropdown}} {question}\n:class-container: bim-surprise\n\n{expected}\n\n{seen} ({link} shows it again.)\n:::"


class FindingDirective(SphinxDirective):
    """{finding} NAME; one that is not there is a warning, so the build fails."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name, host = self.arguments[0], nodes.Element()
        path = Path(self.env.srcdir, "findings", f"{name}.sh")
        if not path.is_file():
            log.warning("findings/ has no script %s", name, location=self.get_location(), type="bim", subtype="finding")
            return []
        self.env.note_dependency(str(path))
        self.state.nested_parse(StringList(told(name, path.read_text()).splitlines(), str(path)), 0, host)
        return host.children


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("finding", FindingDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
