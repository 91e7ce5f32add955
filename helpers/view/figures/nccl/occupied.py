"""Who keeps a GPU's multiprocessors, and for how long: a panel a case, as high as there are SMs. Chapter: who-moves.

A model's areas are hollow, what was measured is a solid line across.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from helpers.units import seconds_text
from helpers.view.figures.drawing import lines, words
from helpers.view.figures.lanes import _ticks
from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import colour, plotly_template

GAP = 0.5  # between two panels, in their height: the words of the one below
LETTERS = 12  # pixels
WORTH = 0.35  # of the axis: what is shorter has no room for its words on a phone


class Area(NamedTuple):
    """So many SMs do `what` from start to end, seconds. what: "collective" or anything else, which is the product's."""

    what: str
    sms: int
    start: float
    end: float


class Panel(NamedTuple):
    """areas: from the top. measured: seconds until both were done, None where nobody measured it."""

    areas: Sequence[Area]
    measured: float | None = None


def occupied(panels: Mapping[str, Panel], sms: int, title: str) -> go.Figure:
    """By name, from the top, on one axis of time.

    ValueError for no panel, an area that ends before it starts, or more SMs at once than there are.
    """
    if not panels:
        raise ValueError("a picture of SMs wants at least one panel")
    figure = go.Figure(
        layout={"template": plotly_template(), "title": title, "showlegend": False, "barmode": "overlay"}
    )
    longest = max(_ends(panel) for panel in panels.values())
    for i, (name, panel) in enumerate(panels.items()):
        _refuse(name, panel, sms)
        foot = -(i + 1) * (1 + GAP)
        figure.add_traces([*_bars(name, panel, sms, foot, longest), *_measured(panel, foot), _words(name, panel, foot)])
    figure.update_xaxes(title="time", **_ticks(longest) | {"range": [0, longest * 1.04]})
    figure.update_yaxes(range=[-len(panels) * (1 + GAP) - 0.05, 0], visible=False)
    figure.update_layout(height=120 + 190 * len(panels))
    figure.update_layout(tabled(("case", "name"), ("who", 0), ("SMs", 1), ("from", "base", "s"), ("to", "end", "s")))
    return figure


def _refuse(name: str, panel: Panel, sms: int) -> None:
    if wrong := [area for area in panel.areas if not (0 <= area.start <= area.end and area.sms > 0)]:
        raise ValueError(f"{name}: an area has SMs and ends after it starts, got {wrong[0]}")
    for at in sorted({area.start for area in panel.areas}):
        if (busy := sum(area.sms for area in panel.areas if area.start <= at < area.end)) > sms:
            raise ValueError(f"{name}: {busy} SMs are busy at {seconds_text(at)}, and there are {sms}")


def _ends(panel: Panel) -> float:
    return max([area.end for area in panel.areas] + [panel.measured or 0.0])


def _bars(name: str, panel: Panel, sms: int, foot: float, longest: float) -> Iterator[go.Bar]:
    """An area stands on those SMs, counted from the top, that are free when it starts."""
    used: list[tuple[int, int, float]] = []
    for area in panel.areas:
        first = next(
            k for k in range(sms) if all(k + area.sms <= a or k >= b or end <= area.start for a, b, end in used)
        )
        used.append((first, first + area.sms, area.end))
        taken = area.what == "collective"
        yield go.Bar(
            orientation="h",
            name=name,
            y=[foot + 1 - (first + area.sms / 2) / sms],
            base=[area.start],
            x=[area.end - area.start],
            width=area.sms / sms,
            text=[_said(area, panel.measured) if area.end - area.start > WORTH * longest else ""],
            constraintext="none",
            textposition="inside",
            insidetextanchor=_clear(area, panel.measured),
            textangle=0,
            textfont={"color": colour("page" if taken else "ink"), "size": LETTERS},
            marker={"color": colour("muted" if taken else "well"), "line": {"width": 1, "color": colour("edge")}},
            customdata=[[area.what, str(area.sms)]],
            hovertext=[f"{area.what}, {area.sms} SMs: {seconds_text(area.start)} to {seconds_text(area.end)}"],
            hovertemplate="%{hovertext}<extra></extra>",
        )


def _crossed(area: Area, measured: float | None) -> bool:
    """Whether the line of what was measured goes through an area."""
    return measured is not None and area.start < measured < area.end


def _said(area: Area, measured: float | None) -> str:
    """The words of an area; few, where they have a part of it only."""
    return f"{area.sms} SMs" if _crossed(area, measured) else f"{area.what}: {area.sms} SMs"


def _clear(area: Area, measured: float | None) -> str:
    """Where in its area a word stands: in the middle, or on the wider side of the line that goes through."""
    if measured is None or not _crossed(area, measured):
        return "middle"
    return "start" if measured - area.start > area.end - measured else "end"


def _measured(panel: Panel, foot: float) -> list[go.Scatter]:
    if panel.measured is None:
        return []
    across = [(panel.measured, foot), (panel.measured, foot + 1)]
    return [lines([across], "ink", width=3).update(customdata=[])]


def _words(name: str, panel: Panel, foot: float) -> go.Scatter:
    """Above the panel: its name, when the model is done, and what was measured."""
    done = max(area.end for area in panel.areas)
    seen = "" if panel.measured is None else f", measured {seconds_text(panel.measured)}"
    return words([(0, foot + 1.04)], [f"<b>{name}</b><br>model {seconds_text(done)}{seen}"], "top right")
