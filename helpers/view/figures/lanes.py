"""Who does what when: one lane per rank (or per wire), bars on an axis of seconds. Chapters: ranks, overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from helpers.units import seconds_text
from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import colour, plotly_template

# Working is filled, waiting is an outline; the wire has the accent.
KINDS = {
    "computes": {"color": "muted", "outline": "muted"},
    "communicates": {"color": "accent", "outline": "accent"},
    "waits": {"color": "well", "outline": "edge"},
}
THICK = 0.5  # of a lane's height


@dataclass(frozen=True)
class Span:
    """One bar: its lane, what happens ("computes", "communicates" or "waits"), and from when to when, in seconds."""

    lane: str
    what: str
    start: float
    end: float

    def __post_init__(self):
        if self.what not in KINDS:
            raise ValueError(f"{self.lane}: what is one of {', '.join(KINDS)}, got {self.what!r}")
        if not 0 <= self.start <= self.end:
            raise ValueError(
                f"{self.lane}: a span starts at 0 or later and then ends, got {self.start!r} to {self.end!r}"
            )

    def __str__(self) -> str:
        """When, and on which lane, as the hover text says it."""
        return f"{seconds_text(self.start)} to {seconds_text(self.end)}: {self.lane}"


def lanes(spans: Sequence[Span], title: str) -> go.Figure:
    """The spans as bars, lanes from the top in the order in which they first come. ValueError when there is none."""
    if not spans:
        raise ValueError("a figure of lanes wants at least one span")
    names = list(dict.fromkeys(span.lane for span in spans))
    layout = go.Layout(
        template=plotly_template(), title=title, barmode="overlay", height=max(400, 120 + 36 * len(names))
    )
    figure = go.Figure(layout=layout)
    for what in KINDS:
        if found := [span for span in spans if span.what == what]:
            figure.add_trace(_bars(what, found))
    figure.update_xaxes(title="time", **_ticks(max(span.end for span in spans)))
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=names[::-1])
    figure.update_layout(legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}, showlegend=True)
    figure.update_layout(tabled(("what", "name"), ("lane", "y"), ("from", "base", "s"), ("to", "end", "s")))
    return figure


def _bars(what: str, spans: Sequence[Span]) -> go.Bar:
    style = KINDS[what]
    return go.Bar(
        orientation="h",
        name=what,
        y=[span.lane for span in spans],
        base=[span.start for span in spans],
        x=[span.end - span.start for span in spans],
        width=THICK,
        marker={"color": colour(style["color"]), "line": {"width": 1, "color": colour(style["outline"])}},
        hovertext=[str(span) for span in spans],
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
    )


def _ticks(end: float) -> dict:
    """Up to four round ticks from 0 to the end, few enough for a phone, spelled with their unit."""
    if end <= 0:
        return {"range": [0, 1e-9], "tickvals": [0], "ticktext": ["0 s"]}
    step = next(s for s in _round_steps() if end / s < 4)
    at = [step * k for k in range(int(end / step) + 1)]
    return {"range": [0, end * 1.02], "tickangle": 0, "tickvals": at, "ticktext": [seconds_text(t) for t in at]}


def _round_steps() -> Iterator[float]:
    """1, 2 and 5 ns, 10 ns, ... without end."""
    exponent = -9
    while True:
        yield from (m * 10.0**exponent for m in (1, 2, 5))
        exponent += 1
