"""GPUs on a circle with the ways between them, as `nvidia-smi topo -m` names them: the best ring is the rim. Chapter: interconnects."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import plotly.graph_objects as go

from helpers.view.figures.drawing import MARGIN, UNSEEN, lines, marks, rank_squares, sheet, words
from helpers.view.figures.twin import tabled

Ways = Mapping[tuple[str, str], str]  # by pair, each once or in both orders: a word, "NV18" or "PHB"
GPU = 34  # side of a GPU's square in pixels
RIM, CHORD, THIN = 5, 2.5, 1  # pixels: a hop of the ring, other NVLinks, other ways
HOP, OUTSIDE = 1.06, 1.24  # where hops and cards are named, as parts of the way to the rim, which is at 1


def joined(ways: Ways, ring: Sequence[str], title: str, cards: Mapping[str, Sequence[str]] | None = None) -> go.Figure:
    """ring: the GPUs in its order, which is that of the circle. cards: by GPU, its nearest network cards, named beside it.

    A way of NVLinks is a solid line, one over PCIe or between sockets a dotted one. ValueError for no GPU, one that is named twice,
    or a pair without a way.
    """
    if not ring or len(set(ring)) != len(ring):
        raise ValueError(f"a ring names each GPU once, and at least one, got {', '.join(ring) or 'none'}")
    pairs = {(a, b): _way(ways, a, b) for i, a in enumerate(ring) for b in ring[i + 1 :]}
    rim = [pair for pair in pairs if _beside(pair, ring)]
    figure = sheet(title)
    figure.add_traces(
        [*_lines(pairs, rim, ring), _words(pairs, rim, ring), *_gpus(ring, cards or {}), _told(pairs, rim, ring)]
    )
    figure.update_layout(height=460, margin=MARGIN)
    figure.update_layout(tabled(("GPU", 0), ("GPU", 1), ("way", 2), ("in the ring", 3)))
    figure.update_xaxes(range=[-1.5, 1.5], scaleanchor="y", **UNSEEN)
    return figure.update_yaxes(range=[-1.6, 1.6], **UNSEEN)


def _way(ways: Ways, one: str, other: str) -> str:
    found = ways.get((one, other), ways.get((other, one)))
    if found is None:
        raise ValueError(f"a way between every two GPUs of the ring, got none of {one} and {other}")
    return found


def _beside(pair: tuple[str, str], ring: Sequence[str]) -> bool:
    return abs(ring.index(pair[0]) - ring.index(pair[1])) in (1, len(ring) - 1)


def _place(gpu: str, ring: Sequence[str], far: float = 1) -> tuple[float, float]:
    """The first one at the top, the others clockwise."""
    turn = 2 * math.pi * ring.index(gpu) / len(ring)
    return round(far * math.sin(turn), 4), round(far * math.cos(turn), 4)


def _middle(pair: tuple[str, str], ring: Sequence[str], share: float = 0.5) -> tuple[float, float]:
    (x, y), (u, v) = (_place(gpu, ring) for gpu in pair)
    return round(x + share * (u - x), 4), round(y + share * (v - y), 4)


def _lines(pairs: Ways, rim: Sequence[tuple[str, str]], ring: Sequence[str]) -> Iterator[go.Scatter]:
    """Those of one look are one trace; the ring comes last, on top."""
    looks: dict[tuple[str, float, str], list[tuple[str, str]]] = {}
    for pair, way in sorted(pairs.items(), key=lambda item: item[0] in rim):
        links = way.startswith("NV")
        wide = RIM if pair in rim else CHORD if links else THIN
        shade = "accent" if pair in rim else "edge"
        looks.setdefault((shade, wide, "solid" if links else "dot"), []).append(pair)
    for (shade, wide, dash), drawn in looks.items():
        yield lines([(_place(a, ring), _place(b, ring)) for a, b in drawn], shade, width=wide, dash=dash)


def _words(pairs: Ways, rim: Sequence[tuple[str, str]], ring: Sequence[str]) -> go.Scatter:
    """The way of each hop of the ring, beside its line."""
    middles = [_middle(pair, ring) for pair in rim]
    places = [(round(HOP * x, 4), round(HOP * y, 4)) for x, y in middles] if len(ring) > 2 else [(0.04, 0.0)] * len(rim)
    return words(places, [pairs[pair] for pair in rim], [_side(*place) for place in places])


def _side(x: float, y: float) -> str:
    """Away from the middle of the circle."""
    if abs(x) < 0.01:
        return "top center" if y > 0 else "bottom center"
    return f"middle {'right' if x > 0 else 'left'}"


def _gpus(ring: Sequence[str], cards: Mapping[str, Sequence[str]]) -> Iterator[go.Scatter]:
    """Squares in their ranks' colours with their numbers, and the cards outside of them."""
    number = {gpu: int(gpu.removeprefix("GPU")) for gpu in ring}
    places = [_place(gpu, ring) for gpu in ring]
    yield marks(places, rank_squares(number.values(), GPU), [str(number[gpu]) for gpu in ring])
    outside = [_place(gpu, ring, OUTSIDE) for gpu in ring]
    yield words(outside, _named(ring, cards), [_side(*place) for place in outside], "muted")


def _named(ring: Sequence[str], cards: Mapping[str, Sequence[str]]) -> list[str]:
    """Up to two a GPU: more of them are as near to others, too."""
    return ["<br>".join(cards.get(gpu, ())) if len(cards.get(gpu, ())) <= 2 else "" for gpu in ring]


def _told(pairs: Ways, rim: Sequence[tuple[str, str]], ring: Sequence[str]) -> go.Scatter:
    """A point on every line that says what it is; its table's rows."""
    places = [_middle(pair, ring, 0.5 if pair in rim else 0.4) for pair in pairs]
    return go.Scatter(
        x=[x for x, _ in places],
        y=[y for _, y in places],
        mode="markers",
        marker={"size": 16, "opacity": 0},
        customdata=[[*pair, way, "yes" if pair in rim else "no"] for pair, way in pairs.items()],
        hovertext=[f"{a} and {b}: {way}" for (a, b), way in pairs.items()],
        hoverinfo="text",
    )
