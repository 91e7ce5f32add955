"""A node drawn: its GPUs, the switches that all their links lead into, the card beside each, the host below. Chapter: interconnects."""

from __future__ import annotations

from collections.abc import Iterator

import plotly.graph_objects as go

from helpers.view.figures.drawing import Point, framed, lines, marks, rank_squares, sheet, square, words

SWITCHES, GPUS, SLOTS, CARDS, HOST = 2.2, 1.1, 0.55, 0.0, -0.75  # how high each row stands
BESIDE = 0.3  # how far to the right of its GPU a card stands
GPU, PART = 24, 16  # sides of the squares in pixels


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
    figure = sheet(title)
    figure.add_traces(
        [
            lines([(gpu, switch) for gpu in places for switch in above], "accent", width=1.5),
            lines([*zip(places, slots, strict=True), *((slot, (slot[0], HOST)) for slot in slots)], "edge", width=1.5),
            lines([(slot, beside[number * cards // gpus]) for number, slot in enumerate(slots)], "edge", width=1.5),
            lines([((-0.4, HOST), (gpus - 0.6, HOST))], "edge", width=9),
            *_marks(places, above, beside),
            *_words(gpus, links, switches, cards),
        ]
    )
    columns = ("part", "name"), ("in a node", 0), ("joined by", 1)
    return framed(figure, 380, [-0.8, gpus - 0.1], [-1.35, 2.75], *columns)


def _marks(gpus: list[Point], switches: list[Point], cards: list[Point]) -> Iterator[go.Scatter]:
    yield marks(gpus, rank_squares(range(len(gpus)), GPU), [str(number) for number in range(len(gpus))])
    yield marks(switches, square("edge", PART), ["NVSwitch"] * len(switches), "top center")
    yield marks(cards, {**square("edge", PART), "symbol": "circle"}, ["NIC"] * len(cards), "bottom center")


def _words(gpus: int, links: int, switches: int, cards: int) -> Iterator[go.Scatter]:
    """A line of the table for each part, the host's with its words below the bar."""
    rows = [
        ("GPUs", gpus, f"{links} NVLinks each, PCIe"),
        ("NVSwitches", switches, f"{links * gpus // switches} NVLinks each"),
    ]
    for name, count, by in [*rows, ("network cards", cards, "PCIe")]:
        yield go.Scatter(x=[0], y=[GPUS], mode="text", text=[""], name=name, customdata=[[count, by]], hoverinfo="skip")
    yield words([((gpus - 1) / 2, HOST - 0.1)], ["PCIe to processors and host memory"], "bottom center")
