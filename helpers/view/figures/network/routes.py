"""What bytes pass from one GPU to another, place by place: memories that they are written to are filled. Chapter: interconnects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import plotly.graph_objects as go

from helpers.view.figures.drawing import SILENT, framed, headline, lines, sheet, words
from helpers.view.shared.tokens import colour

Hops = Sequence[str]  # wire, place, wire, ..., wire: what lies between two GPUs
MEMORY = "host memory"
NETWORK = "network"
TALL, ROW = 1, -0.54  # of one way: its height, and where its places stand
ABOVE, BELOW = 0.1, 0.145  # how far off its line a wire's name stands, and a place's: clear of the square
HIGH = 128  # of one way in pixels
PLACE = 22  # side of a place's square in pixels


def routes(cases: Mapping[str, Hops], title: str) -> go.Figure:
    """One row for every way. cases: by name, the hops between the two GPUs, as in `helpers.nccl.Transport`.

    ValueError for no way, or for hops that do not begin and end with a wire.
    """
    if not cases:
        raise ValueError("a picture of ways wants at least one")
    figure = sheet(title)
    for i, (name, hops) in enumerate(cases.items()):
        if len(hops) % 2 == 0:
            raise ValueError(f"{name}: a way is wire, place, wire, ..., wire, got {', '.join(hops) or 'nothing'}")
        top = -i * TALL
        figure.add_traces([*_wires(hops[::2], top + ROW), *_places(places(hops), top + ROW), _words(name, hops, top)])
    widest = max(len(hops[::2]) for hops in cases.values())
    x, y = [-0.5, widest + 0.5], [-len(cases) * TALL, 0]
    return framed(figure, 64 + HIGH * len(cases), x, y, ("way", "name"), ("passes", 0), ("copies", 1))


def places(hops: Hops) -> list[str]:
    """Where the bytes are, from the first GPU to the last."""
    return ["GPU", *hops[1::2], "GPU"]


def ncopies(hops: Hops) -> int:
    """How often they are written into a memory: each stop in a host's, and the last GPU's."""
    return 1 + list(hops).count(MEMORY)


def _wires(names: Sequence[str], y: float) -> Iterator[go.Scatter]:
    """A line from place to place with its name above; the network is dotted."""
    for dash, kind in (("solid", [name != NETWORK for name in names]), ("dot", [name == NETWORK for name in names])):
        yield lines([((x, y), (x + 1, y)) for x, drawn in enumerate(kind) if drawn], "accent", width=3, dash=dash)
    yield words([(x + 0.5, y + ABOVE) for x in range(len(names))], names, "top center", "muted")


def _places(names: Sequence[str], y: float) -> Iterator[go.Scatter]:
    """Filled where the bytes are written; hollow where they start, and what they only pass."""
    written = [i == len(names) - 1 or name == MEMORY for i, name in enumerate(names)]
    line = {"width": 3, "color": [colour("accent" if name in ("GPU", MEMORY) else "edge") for name in names]}
    fills = [colour("accent" if w else "page") for w in written]
    marker = {"symbol": "square", "size": PLACE, "color": fills, "line": line}
    yield go.Scatter(x=list(range(len(names))), y=[y] * len(names), mode="markers", marker=marker, **SILENT)
    below = [(x, y - BELOW) for x in range(len(names))]
    yield words(below, [name.replace(" ", "<br>") for name in names], "bottom center")


def _words(name: str, hops: Hops, top: float) -> go.Scatter:
    """The row's headline; its table says the same."""
    many = ncopies(hops)
    said = f"<b>{name}</b>: {many} {'copy' if many == 1 else 'copies'}"
    return headline((-0.4, top), name, said, [", ".join(hops), many])
