"""Lines of the ledger beside each other: how long their messages last by kind, and what a GPU holds. Chapters: data-parallel to meshes.

Plain data in, a plotly Figure out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap

import plotly.graph_objects as go

from helpers.ledger import AXES, Entry, Traffic
from helpers.memory import CLASSES, Peak
from helpers.units import nbytes_text, seconds_text
from helpers.view.figures.training.peaks import peaks
from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import plotly_template, series_colour

ROW, LINE = 40, 17  # px: a bar with its gap at least, and a line of its name
GAP = 0.35  # of a row
LETTERS = 20  # of a line of a name
LEVELS = {"node": "inside a node", "network": "between nodes"}
BELOW = {"orientation": "h", "x": 0, "y": -0.3, "yanchor": "top", "traceorder": "normal"}


Entries = Sequence[Entry] | Mapping[str, Entry]


def ledger(entries: Entries, title: str = "A step's messages, one after another", marked: str = "") -> go.Figure:
    """A bar for each entry, top to bottom in the order given: milliseconds by NCCL's model, by axis and by what they cross.

    entries: by names of their own, or as a list, under the names of their ways. marked: the axis whose time is written under the
    ends of the bars, where it may be too thin to be seen. ValueError for no entry, and for entries of two setups: their steps are
    not the same work.
    """
    named = _named(entries)
    keys = [(axis, level) for axis in AXES for level in LEVELS if _parts(named.values(), axis, level)]
    figure = go.Figure([_time(named, axis, level) for axis, level in keys], _layout(title, named))
    figure.layout.annotations = [
        _mark(i, f"{marked}: {seconds_text(seconds)}", 1e3 * _seconds(entry, *AXES))
        for i, entry in enumerate(named.values())
        if (seconds := _seconds(entry, marked))
    ]
    figure.update_xaxes(title="ms a step, by NCCL's model", showgrid=True, rangemode="tozero")
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_layout(
        tabled(("messages", "name"), ("shared out", "y"), ("bytes sent", 0, "B"), ("they last", 1, "s"))
    )
    return figure


def ledger_memory(entries: Entries, title: str = "What one GPU holds at the highest moment") -> go.Figure:
    """A bar for each entry of the GPU that holds most, by class, in GiB; the GPU's memory is a dashed line. Entries as in `ledger`."""
    named = _named(entries)
    device = next(iter(named.values())).setup.accelerator
    return peaks({name: _held(entry) for name, entry in named.items()}, title, device)


def _named(entries: Entries) -> dict[str, Entry]:
    """By what stands beside each bar, in lines that a telephone has room for."""
    given = entries if isinstance(entries, Mapping) else {_words(entry): entry for entry in entries}
    setups = {entry.setup.name for entry in given.values()}
    if len(setups) != 1:
        raise ValueError(f"a picture of the ledger has entries of one setup, got {', '.join(sorted(setups)) or 'none'}")
    return {"<br>".join(wrap(name, LETTERS, break_on_hyphens=False)): entry for name, entry in given.items()}


def _words(entry: Entry) -> str:
    again = {"none": "", "full": ", recomputed"}.get(entry.checkpoint, f", {entry.checkpoint} recompute")
    return entry.name + again


def _held(entry: Entry) -> Peak:
    classes = dict.fromkeys(CLASSES, 0) | dict(entry.step.terms.nbytes)
    return Peak(0, entry.nbytes, classes, entry.step.where, "", "")


def _row(named: Mapping[str, Entry]) -> int:
    """As high as the longest name wants it."""
    return max(ROW, LINE * (1 + max(name.count("<br>") for name in named)))


def _layout(title: str, named: Mapping[str, Entry]) -> go.Layout:
    height = 170 + _row(named) * len(named)
    return go.Layout(template=plotly_template(), title=title, barmode="stack", legend=BELOW, height=height, bargap=GAP)


def _mark(row: int, text: str, end: float) -> dict[str, object]:
    """A word in the gap under the end of a bar; rows count from 0."""
    at = {"x": end, "y": row + (1 - GAP) / 2, "xanchor": "right", "yanchor": "top"}
    return {**at, "text": text, "showarrow": False, "font": {"size": 11}}


def _seconds(entry: Entry, *axes: str) -> float:
    return sum(_lasts(t) for t in entry.traffic if t.axis in axes)


def _lasts(part: Traffic) -> float:
    return part.priced if part.predicted is None else part.predicted


def _parts(entries: Iterable[Entry], axis: str, level: str) -> bool:
    return any(t.axis == axis and t.level == level for entry in entries for t in entry.traffic)


def _time(named: Mapping[str, Entry], axis: str, level: str) -> go.Bar:
    entries = named.values()
    found = [[t for t in entry.traffic if (t.axis, t.level) == (axis, level)] for entry in entries]
    seconds = [sum(map(_lasts, part)) for part in found]
    sent = [float(sum(t.sent for t in part)) for part in found]
    return go.Bar(
        name=f"{axis}, {LEVELS[level]}",
        y=list(named),
        x=[round(1e3 * s, 3) for s in seconds],
        orientation="h",
        customdata=[[n, s] for n, s in zip(sent, seconds, strict=True)],
        marker={
            "color": series_colour(AXES.index(axis)),
            "line": {"width": 0},
            "pattern": {"shape": "/" if level == "network" else ""},
        },
        hovertext=[f"{nbytes_text(n)} sent by one rank, {seconds_text(s)}" for n, s in zip(sent, seconds, strict=True)],
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
    )
