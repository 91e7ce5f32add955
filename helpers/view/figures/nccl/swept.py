"""What a sweep has found: a line a combination over size, and where NCCL did otherwise than asked. Chapters: benchmarking, choosing.

Plain data in (`helpers.ranks.Swept`, or its `as_json()`), a plotly Figure out. Where ranks shared a GPU there are no times: then the
figure says what NCCL took for each size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import plotly.graph_objects as go

from helpers.units import bandwidth_text, nbytes_text, seconds_text
from helpers.view.figures.against_size import _decades, _ticks
from helpers.view.figures.rates import _from_zero
from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import plotly_template, series_colour

SPELLED = {"busbw": bandwidth_text, "seconds": seconds_text}
UNITS = {"busbw": ("busbw", "B/s"), "seconds": ("time", "s")}
BELOW = {"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"}
AS_ASKED, OTHERWISE, UNTOLD = "circle", "x-thin", "circle-open"
ROW = 44  # px, of a combination without times


class Found(Protocol):
    """`helpers.ranks.Swept`, of which a figure needs no more than this."""

    def as_json(self) -> dict[str, Any]: ...


def swept(found: Found | Mapping[str, Any], title: str | None = None, of: str = "busbw") -> go.Figure:
    """busbw (one way) over message size, or `of="seconds"`: a line a combination; a cross where NCCL did otherwise than asked.

    found: of helpers.ranks.sweep, or what its as_json() gave. title: the finding; by default which combination is best at the largest
    size. Without times: what NCCL took, size by size. ValueError for another `of`, and where no combination has run.
    """
    if of not in SPELLED:
        raise ValueError(f'of is "busbw" or "seconds", got {of!r}')
    told = found if isinstance(found, Mapping) else found.as_json()
    cases = [case for case in told["cases"] if case["rows"]]
    if not cases:
        raise ValueError("a figure of a sweep needs a combination that has run, this one has none")
    figure = _timed(told, cases, of) if told["timed"] else _taken(told, cases)
    sizes = [row["nbytes"] for case in cases for row in case["rows"]]
    figure.update_xaxes(type="log", title="message size", **_ticks(sizes, 4, nbytes_text))
    return figure.update_layout(title=title or (_best(told, cases) if told["timed"] else _choices(told)))


def asked(case: Mapping[str, Any]) -> str:
    """A combination's name: "Ring/LL128, 8 channels"; "auto" is NCCL's own choice."""
    pair = f"{case['algorithm'] or 'auto'}/{case['protocol'] or 'auto'}"
    return pair if case["channels"] is None else f"{pair}, {case['channels']} channels"


def _timed(told: Mapping[str, Any], cases: list, of: str) -> go.Figure:
    figure = go.Figure(layout={"template": plotly_template(), "showlegend": True, "legend": BELOW})
    for i, case in enumerate(cases):
        figure.add_trace(_line(case, of, series_colour(i)))
    words, unit = UNITS[of]
    figure.update_layout(
        tabled(("combination", "name"), ("message size", "x", "B"), (words, "y", unit), ("NCCL took", 0))
    )
    values = [row[of] for case in cases for row in case["rows"]]
    scale = _from_zero(max(values)) if of == "busbw" else {"type": "log", **_decades(values)}
    return figure.update_yaxes(title="busbw, one way" if of == "busbw" else "time", **scale)


def _line(case: Mapping[str, Any], of: str, ink: str) -> go.Scatter:
    rows = case["rows"]
    return go.Scatter(
        x=[row["nbytes"] for row in rows],
        y=[row[of] for row in rows],
        mode="lines+markers",
        name=asked(case),
        line={"width": 2, "color": ink},
        marker={"symbol": [_mark(row) for row in rows], "size": 9, "color": ink, "line": {"width": 2, "color": ink}},
        customdata=[[_took(row)] for row in rows],
        hovertext=[f"{nbytes_text(row['nbytes'])}: {SPELLED[of](row[of])}, NCCL took {_took(row)}" for row in rows],
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
        cliponaxis=False,
    )


def _mark(row: Mapping[str, Any]) -> str:
    return {True: AS_ASKED, False: OTHERWISE}.get(row["took_effect"], UNTOLD)


def _took(row: Mapping[str, Any]) -> str:
    if row["algorithm"] is None:
        return "what its log does not tell"
    pair = f"{row['algorithm']}/{row['protocol']}"
    return pair if row["channels"] is None else f"{pair} on {row['channels']} channels"


def _taken(told: Mapping[str, Any], cases: list) -> go.Figure:
    """A line of marks a combination, in the colour of what was taken. The figure is low, so its legend lies further below, in pixels."""
    room = ROW * len(cases)
    legend = BELOW | {"y": -90 / (60 + room)}
    figure = go.Figure(layout={"template": plotly_template(), "showlegend": True, "legend": legend})
    points = [(asked(case), row) for case in cases for row in case["rows"]]
    pairs = list(dict.fromkeys(_pair(row) for _, row in points))
    for i, pair in enumerate(pairs):
        own = [(name, row) for name, row in points if _pair(row) == pair]
        figure.add_trace(_marks(pair, own, series_colour(i)))
    figure.update_layout(tabled(("NCCL took", "name"), ("asked", "y"), ("message size", "x", "B")), height=200 + room)
    return figure.update_yaxes(title="asked", autorange="reversed", type="category", showgrid=False)


def _pair(row: Mapping[str, Any]) -> str:
    return "untold" if row["algorithm"] is None else f"{row['algorithm']}/{row['protocol']}"


def _marks(pair: str, own: list, ink: str) -> go.Scatter:
    return go.Scatter(
        x=[row["nbytes"] for _, row in own],
        y=[name for name, _ in own],
        mode="markers",
        name=pair,
        marker={"symbol": [_mark(row) for _, row in own], "size": 12, "color": ink, "line": {"width": 2, "color": ink}},
        hovertext=[f"{nbytes_text(row['nbytes'])}: {_took(row)}" for _, row in own],
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
    )


def _best(told: Mapping[str, Any], cases: list) -> str:
    """The finding: who is fastest at the largest size that all have."""
    shared = set.intersection(*({row["nbytes"] for row in case["rows"]} for case in cases))
    if not shared:
        return f"{told['collective']} on {told['label']}"
    last = max(shared)
    best = max(cases, key=lambda case: _at(case, last)["busbw"])
    rate = bandwidth_text(_at(best, last)["busbw"])
    return f"{told['collective']} of {nbytes_text(last)}: {asked(best)} is fastest, {rate} busbw one way"


def _at(case: Mapping[str, Any], nbytes: int) -> Mapping[str, Any]:
    return next(row for row in case["rows"] if row["nbytes"] == nbytes)


def _choices(told: Mapping[str, Any]) -> str:
    return f"What NCCL took for {told['collective']} by {told['nranks']} ranks that share a GPU (nothing timed)"
