"""Two tables of ways to train by the clock, made from the recorded run of `python -m helpers.parallel.scaling`.

```{strategies} clocked
```
"clocked": the small transformer under each strategy. "emulated": layers that sleep, over an emulated link; each number with the one on
paper beneath it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from helpers.ledger.scaling import Scaling
from website.hierarchy_table import head, note, table, text
from website.roles import load_run, provenance

log = logging.getLogger(__name__)
RUN, COMMAND = "strategies-time-cpu", "python -m helpers.parallel.scaling"
CLOCKED = (
    "Strategy",
    "Tokens/s, 1 rank",
    "2 ranks",
    "4 ranks",
    "MFU, 1 rank",
    "MFU, 4 ranks",
    "HFU, 4 ranks",
    "Strong, 4 ranks",
)
EMULATED = ("Way", "Strong", "Amdahl's share", "Weak", "Hidden")
NONE = "–"
Row = list[list[nodes.Node]]


class StrategiesDirective(SphinxDirective):
    """{strategies} clocked|emulated; anything else is a warning, so the build fails."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        folder = Path(self.env.srcdir, "recorded")
        self.env.note_dependency(str(folder / f"{RUN}.json"))
        try:
            return tables(self.arguments[0], load_run(folder, RUN))
        except (KeyError, ValueError) as error:
            log.warning("strategies: %s", error, location=self.get_location(), type="bim", subtype="strategies")
            return []


def tables(kind: str, run: dict[str, Any]) -> list[nodes.Node]:
    """The table and where it comes from. ValueError for another kind."""
    made = {"clocked": (CLOCKED, clocked_rows), "emulated": (EMULATED, emulated_rows)}
    if kind not in made:
        raise ValueError(f"a table of strategies is {' or '.join(made)}, got {kind!r}")
    heads, rows = made[kind]
    shown = table(f"bim-strategies bim-{kind}", [[text(words)] for words in heads], rows(run["data"][kind]))
    return [shown, note(f"{provenance(run).replace('recorded', 'Recorded', 1)}; by {COMMAND}.")]


def clocked_rows(found: list[dict[str, Any]]) -> list[Row]:
    """A row a strategy, in the order of the record; a dash where it needs more ranks."""
    by_name: dict[str, dict[int, dict[str, Any]]] = {}
    for one in found:
        by_name.setdefault(one["name"], {})[one["nranks"]] = one
    return [_clocked(name, at) for name, at in by_name.items()]


def _clocked(name: str, at: dict[int, dict[str, Any]]) -> Row:
    most = max(at)
    strong = percent(Scaling({n: one["seconds"] for n, one in at.items()}).strong[most]) if 1 in at else NONE
    speeds = [f"{at[n]['tokens_per_second']:,.0f}" if n in at else NONE for n in (1, 2, 4)]
    shares = [percent(at[n][share]) if n in at else NONE for n, share in ((1, "mfu"), (most, "mfu"), (most, "hfu"))]
    return [head(name), *([text(words)] for words in (*speeds, *shares, strong))]


def emulated_rows(found: list[dict[str, Any]]) -> list[Row]:
    """A row a way, of its strong and its weak runs."""
    by_way: dict[str, dict[str, dict[str, Any]]] = {}
    for one in found:
        by_way.setdefault(one["way"], {})[one["kind"]] = one
    return [_emulated(way, kinds["strong"], kinds["weak"]) for way, kinds in by_way.items()]


def _emulated(way: str, strong: dict[str, Any], weak: dict[str, Any]) -> Row:
    both, alike = (
        [Scaling({int(n): t for n, t in one[part].items()}) for part in ("seconds", "paper")] for one in (strong, weak)
    )
    most = max(both[0].seconds)
    cells = (
        [one.strong[most] for one in both],
        [one.serial for one in both],
        [one.weak[most] for one in alike],
        [strong["hidden"], strong["hidden_paper"]],
    )
    return [head(way), *([text(percent(run)), text(f"paper {percent(paper)}")] for run, paper in cells)]


def percent(share: float) -> str:
    """ "79.0 %"."""
    return f"{share:.1%}".replace("%", " %")


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive."""
    app.add_directive("strategies", StrategiesDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
