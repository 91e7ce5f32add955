"""Which torch was tried, with what outcome, and what differs between releases: two tables for page setup.

```{torch-versions} tried
```
"tried": by recorded/torches. "differs": by helpers/torch_versions.toml.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from helpers.records import RecordError, whole
from helpers.torch_versions import changes
from website.hierarchy_table import head, table, text

log = logging.getLogger(__name__)
TRIED = "PyTorch", "On", "Passed", "When"
DIFFERS = "Since", "What", "Before", "From then on"
Row = list[list[nodes.Node]]


class TorchVersionsDirective(SphinxDirective):
    """{torch-versions} tried|differs; anything else, and a record that is not whole, is a warning, so the build fails."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        made = {"tried": (TRIED, tried), "differs": (DIFFERS, differs)}
        try:
            heads, rows = made[self.arguments[0]]
            found = rows(Path(self.env.srcdir, "recorded"))
        except (KeyError, RecordError) as error:
            log.warning("torch-versions: %s", error, location=self.get_location(), type="bim", subtype="torch")
            return []
        self.env.note_reread()  # another record changes it
        return [table("bim-counted", [[text(words)] for words in heads], found)]


def tried(folder: Path) -> list[Row]:
    """A row for each lane of each release, the newest first."""
    runs = [whole(path, folder) for path in folder.glob("torches/*.json")]
    runs.sort(key=lambda run: [int(one) for one in run["versions"]["torch"].split("+")[0].split(".")], reverse=True)
    return [row for run in runs for row in lanes(run)]


def lanes(run: dict[str, Any]) -> list[Row]:
    """Of one release."""
    version, cells = run["versions"]["torch"].partition("+")[0], len(run["data"]["cells"])
    found = []
    for name, lane in run["data"]["lanes"].items():
        other = f", {cells} of them with an output of this release" if name == "labs" and cells else ""
        skipped = f"; {lane['skipped']:,} skipped" if lane["skipped"] else ""
        passed = f"{lane['passed']:,} {'cells' if name == 'labs' else 'tests'}{other}{skipped}"
        found.append([head(version), [text(name)], [text(passed)], [day(lane["date"])]])
    return found


def day(words: str) -> nodes.paragraph:
    """In one line."""
    return nodes.paragraph("", "", nodes.inline("", words, classes=["bim-day"]))


def differs(_: Path) -> list[Row]:
    """A row for each change, in the order of the releases."""
    found = sorted(changes().values(), key=lambda one: [int(n) for n in one.since.split(".")])
    return [[head(one.since), *([worded(words)] for words in (one.what, one.before, one.after))] for one in found]


def worded(words: str) -> nodes.paragraph:
    """`names` in backticks are code."""
    parts = enumerate(re.split(r"`([^`]+)`", words))
    return nodes.paragraph("", "", *(nodes.literal("", one) if i % 2 else nodes.Text(one) for i, one in parts if one))


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive."""
    app.add_directive("torch-versions", TorchVersionsDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
