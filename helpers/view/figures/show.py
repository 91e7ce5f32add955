"""show(fig, name, caption): one figure for the page, JupyterLab and plain readers, as data and never as code. Every lab."""

from __future__ import annotations

import json
import re
from html import escape

import plotly.graph_objects as go
from IPython.display import display

from helpers.view.figures.twin import Twin, twin
from helpers.view.shared.mount import fallback, mount
from helpers.view.shared.tokens import colour, plotly_template

NROWS = 12  # a table longer than this is no longer read; it says how many points it leaves out
CONFIG = {"displayModeBar": False, "responsive": True}


def show(fig: go.Figure, name: str, caption: str) -> None:
    """Display a figure and its caption. `name` is its id on the page; `caption` says data, machine and date.

    ValueError for a name that is no id, an empty caption, or a figure without a title (which states the finding).
    """
    display(chart(fig, name, caption), raw=True)
    display({"text/html": f'<p class="bim-caption">{escape(caption)}</p>', "text/plain": caption}, raw=True)


def chart(fig: go.Figure, name: str, caption: str) -> dict[str, object]:
    """The mimebundle of a figure: plotly's JSON for JupyterLab, a mount for the page, a line of text for the rest."""
    _refuse(fig, name, caption)
    figure = go.Figure(fig)
    figure.layout.template = plotly_template()  # set, not updated: an update would merge plotly's own 7 KB into it
    numbers = twin(figure)
    figure.layout.meta = None  # the page has it as `columns`, JupyterLab has no table
    data = json.loads(figure.to_json(engine="json"))
    html = mount("chart", _spec(data, name, numbers), _table(figure, numbers))
    # JupyterLab draws on its own page, light or dark: the light page goes with the figure.
    data["layout"] |= {"paper_bgcolor": colour("page"), "plot_bgcolor": colour("page")}
    return {"application/vnd.plotly.v1+json": data, "text/html": html, "text/plain": f"{_title(fig)} [{name}]"}


def _refuse(fig: go.Figure, name: str, caption: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise ValueError(f"name must be lower-case letters, digits and hyphens (it is an id on the page), got {name!r}")
    if not caption.strip():
        raise ValueError(f"{name}: a figure needs a caption: which data, which machine, which date")
    if not _title(fig):
        raise ValueError(f"{name}: a figure needs a title that states its finding")


def _title(fig: go.Figure) -> str:
    return re.sub(r"<[^>]+>", "", fig.layout.title.text or "")


def _spec(data: dict, name: str, numbers: Twin) -> dict:
    """What the page draws: the template is left out, since the page brings its own for light and for dark."""
    layout = {key: value for key, value in data["layout"].items() if key != "template"}
    return {"name": name, "data": data["data"], "layout": layout, "config": CONFIG, "columns": numbers.columns}


def _table(fig: go.Figure, numbers: Twin) -> str:
    """The figure for readers who do not see it: its finding and its numbers, or a sample of them, which is said."""
    picked = _evenly(numbers.rows)
    left_out = f"{len(picked)} of {len(numbers.rows)} points" if len(picked) < len(numbers.rows) else ""
    header = [words for words, *_ in numbers.columns]
    return fallback(f"{_title(fig)}.", header, map(numbers.cells, picked), left_out)


def _evenly(rows: list[tuple]) -> list[tuple]:
    """At most NROWS rows, first and last among them."""
    if len(rows) <= NROWS:
        return rows
    return [rows[round(i * (len(rows) - 1) / (NROWS - 1))] for i in range(NROWS)]
