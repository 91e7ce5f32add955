"""A node drawn: its GPUs, the switches that all their links lead into, the card beside each, the host below. Chapter: interconnects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import plotly.graph_objects as go

from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import colour, plotly_template, rank_colour

Point = tuple[float, float]
SWITCHES, GPUS, SLOTS, CARDS, HOST = 2.2, 1.1, 0.55, 0.0, -0.75  # how high each row stands
BESIDE = 0.3  # how far to the right of its GPU a card stands
GPU, PART = 24, 16  # sides of the squares in pixels
UNSEEN = {"visible": False, "fixedrange": True}


def node_parts(gpus: int, links: int, switches: int, cards: int, title: str) -> go.Figure:
    """links: NVLinks of one GPU, over all switches. cards: network cards that serve the GPUs, shared by neighbours where they are fewer.

    ValueError for a node without GPUs or switches, or for links that do not reach every switch.
    """
    if gpus < 1 or switches < 1 or cards < 1 or links < switches:
        raise ValueError(
            f"GPUs, cards and switches with a link to each, got {gpus}, {cards}, {switches} and {links} links"
        )
    places = [(float(number), GPUS) for number in range(gpus)]
    above = [((number + 0.5) * gpus / switches - 0.5, SWITCHES) for number in range(switches)]
    beside = [((number + 0.5) * gpus / cards - 0.5 + BESIDE, CARDS) for number in range(cards)]
    slots = [(x, SLOTS) for x, _ in places]
    figure = go.Figure(layout={"template": plotly_template(), "title": title, "showlegend": False})
    figure.add_traces(
        [
            _lines([(gpu, switch) for gpu in places for switch in above], "accent", 1.5),
            _lines([*zip(places, slots, strict=True), *((slot, (slot[0], HOST)) for slot in slots)], "edge", 1.5),
            _lines([(slot, beside[number * cards // gpus]) for number, slot in enumerate(slots)], "edge", 1.5),
            _lines([((-0.4, HOST), (gpus - 0.6, HOST))], "edge", 9),
            *_marks(places, above, beside),
            *_words(gpus, links, switches, cards),
        ]
    )
    figure.update_layout(height=380, margin={"l": 8, "r": 8, "t": 48, "b": 8})
    figure.update_xaxes(range=[-0.8, gpus - 0.1], **UNSEEN)
    figure.update_yaxes(range=[-1.35, 2.75], **UNSEEN)
    figure.update_layout(tabled(("part", "name"), ("in a node", 0), ("joined by", 1)))
    return figure


def _lines(pairs: Sequence[tuple[Point, Point]], shade: str, wide: float) -> go.Scatter:
    points = [point for ends in pairs for point in (*ends, (None, None))][:-1]
    line = {"color": colour(shade), "width": wide}
    x, y = [x for x, _ in points], [y for _, y in points]
    return go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", hovertext=[])


def _marks(gpus: list[Point], switches: list[Point], cards: list[Point]) -> Iterator[go.Scatter]:
    edge = {"width": 3, "color": [rank_colour(number) for number in range(len(gpus))]}
    hollow = {"symbol": "square", "size": GPU, "color": colour("page"), "line": edge}
    yield _row(gpus, hollow, [str(number) for number in range(len(gpus))], "middle center")
    yield _row(
        switches,
        {"symbol": "square", "size": PART, "color": colour("edge")},
        ["NVSwitch"] * len(switches),
        "top center",
    )
    yield _row(
        cards, {"symbol": "circle", "size": PART, "color": colour("edge")}, ["NIC"] * len(cards), "bottom center"
    )


def _row(places: list[Point], marker: dict, words: list[str], where: str) -> go.Scatter:
    x, y, ink = [x for x, _ in places], [y for _, y in places], {"color": colour("ink")}
    return go.Scatter(
        x=x,
        y=y,
        mode="markers+text",
        marker=marker,
        text=words,
        textposition=where,
        textfont=ink,
        hoverinfo="skip",
        hovertext=[],
    )


def _words(gpus: int, links: int, switches: int, cards: int) -> Iterator[go.Scatter]:
    """A line of the table for each part, the host's with its words below the bar."""
    rows = [
        ("GPUs", gpus, f"{links} NVLinks each, PCIe"),
        ("NVSwitches", switches, f"{links * gpus // switches} NVLinks each"),
    ]
    for name, count, by in [*rows, ("network cards", cards, "PCIe")]:
        yield go.Scatter(x=[0], y=[GPUS], mode="text", text=[""], name=name, customdata=[[count, by]], hoverinfo="skip")
    middle, said = (gpus - 1) / 2, "PCIe to processors and host memory"
    ink = {"color": colour("ink")}
    yield go.Scatter(
        x=[middle],
        y=[HOST - 0.1],
        mode="text",
        text=[said],
        textposition="bottom center",
        textfont=ink,
        hoverinfo="skip",
        hovertext=[],
    )
