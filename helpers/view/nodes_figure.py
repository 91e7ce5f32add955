"""What two nodes of GPUs send inside and across: every GPU with its NIC, links as wide as the bytes that they carry. Chapter: hierarchy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import plotly.graph_objects as go

from helpers.units import nbytes_text

from .tokens import NRANK_COLOURS, colour, plotly_template, rank_colour

Loads = Mapping[tuple[int, int], float]  # (src, dst): bytes, one way
NNODES = 2
GPU, NIC = 26, 11  # sides of their squares in pixels
WIDEST = 10  # pixels, for the largest load of all panels
TALL = 5.7  # of one panel: two lines of words, then a row of GPUs, their NICs, those of the other node, and its GPUs
GPU_ROWS, NIC_ROWS = (-2.0, -4.8), (-2.8, -4.0)
UNSEEN = {"visible": False, "fixedrange": True}


def two_nodes(panels: Mapping[str, Loads], gpus: int, title: str) -> go.Figure:
    """One panel for every schedule, on one scale. panels: by name, the bytes that go from rank to rank; gpus: per node, a NIC each.

    The line between two ranks is as wide as the larger of its two directions; between nodes it goes from NIC to NIC.
    ValueError when nothing is sent, or by a rank that is in neither node.
    """
    for name, loads in panels.items():
        _refuse(name, loads, gpus)
    figure = go.Figure(layout={"template": plotly_template(), "title": title, "showlegend": False})
    scale = WIDEST / max(max(loads.values()) for loads in panels.values())
    for i, (name, loads) in enumerate(panels.items()):
        top = -i * TALL
        figure.add_traces(
            [
                *_links(loads, gpus, top, scale),
                *_nics(loads, gpus, top),
                *_gpus(gpus, top),
                _words(name, loads, gpus, top),
            ]
        )
    figure.update_layout(height=64 + 210 * len(panels), margin={"l": 8, "r": 8, "t": 48, "b": 8})
    figure.update_xaxes(title="what", range=[-0.7, gpus - 0.3], **UNSEEN)
    figure.update_yaxes(title="how much", range=[-len(panels) * TALL - 0.2, 0.1], **UNSEEN)
    return figure


def _refuse(name: str, loads: Loads, gpus: int) -> None:
    if not loads or max(loads.values()) <= 0:
        raise ValueError(f"{name}: a picture of loads wants at least one link that carries something")
    if wrong := [pair for pair in loads if not all(0 <= rank < NNODES * gpus for rank in pair)]:
        raise ValueError(f"{name}: two nodes of {gpus} GPUs have ranks 0..{NNODES * gpus - 1}, got {wrong[0]}")


def crosses(pair: tuple[int, int], gpus: int) -> bool:
    """Whether src and dst are in different nodes."""
    return pair[0] // gpus != pair[1] // gpus


def out_of_nics(loads: Loads, gpus: int) -> Counter[int]:
    """Bytes that each rank's NIC sends."""
    sent: Counter[int] = Counter()
    for pair, nbytes in loads.items():
        if crosses(pair, gpus) and nbytes:
            sent[pair[0]] += nbytes
    return sent


def _place(rank: int, rows: tuple[float, float], gpus: int, top: float) -> tuple[float, float]:
    return rank % gpus, top + rows[rank // gpus]


def _links(loads: Loads, gpus: int, top: float, scale: float) -> Iterator[go.Scatter]:
    """Between GPUs inside a node, from GPU to NIC, and from NIC to NIC."""
    wide: dict[tuple[int, int], float] = {}
    for (src, dst), nbytes in loads.items():
        pair = min(src, dst), max(src, dst)
        wide[pair] = max(wide.get(pair, 0.0), nbytes)
    through: Counter[int] = Counter()
    for (a, b), nbytes in wide.items():
        rows = NIC_ROWS if crosses((a, b), gpus) else GPU_ROWS
        ends = [_place(rank, rows, gpus, top) for rank in (a, b)]
        if rows is NIC_ROWS:
            through[a] += nbytes
            through[b] += nbytes
        yield _line(
            ends if rows is NIC_ROWS or b - a == 1 else _arch(*ends, a // gpus), nbytes * scale, rows is NIC_ROWS
        )
    for rank, nbytes in through.items():
        yield _line([_place(rank, rows, gpus, top) for rows in (GPU_ROWS, NIC_ROWS)], nbytes * scale, True)


def _arch(a: tuple[float, float], b: tuple[float, float], node: int) -> list[tuple[float, float]]:
    """Round the GPUs that stand between the two: over them in the first node, under them in the second."""
    lift = 0.62 if node == 0 else -0.62
    return [a, ((a[0] + b[0]) / 2, a[1] + lift), b]


def _line(points: list[tuple[float, float]], wide: float, across: bool) -> go.Scatter:
    xs, ys = zip(*points, strict=True)
    return go.Scatter(
        x=list(xs),
        y=list(ys),
        mode="lines",
        line={
            "color": colour("accent" if across else "edge"),
            "width": round(max(1.0, wide), 2),
            "shape": "spline" if len(points) > 2 else "linear",
        },
        hoverinfo="skip",
        hovertext=[],
    )


def _nics(loads: Loads, gpus: int, top: float) -> list[go.Scatter]:
    """Filled where something goes through, hollow where the NIC is idle."""
    busy = {rank for pair, nbytes in loads.items() if crosses(pair, gpus) and nbytes for rank in pair}
    ranks = range(NNODES * gpus)
    return [
        _squares([r for r in ranks if r in busy], NIC_ROWS, gpus, top, size=NIC, color=colour("accent")),
        _squares(
            [r for r in ranks if r not in busy],
            NIC_ROWS,
            gpus,
            top,
            size=NIC,
            symbol="square-open",
            color=colour("edge"),
        ),
    ]


def _gpus(gpus: int, top: float) -> list[go.Scatter]:
    """In the ranks' colours, with their numbers; from rank 8 on a second line tells them from those with the same colour."""
    ranks = list(range(NNODES * gpus))
    inks = [colour(f"on-rank-{rank % NRANK_COLOURS}") for rank in ranks]
    later = ranks[NRANK_COLOURS:]
    return [
        _squares(ranks, GPU_ROWS, gpus, top, size=GPU, color=[rank_colour(rank) for rank in ranks]),
        _squares(later, GPU_ROWS, gpus, top, size=GPU - 6, symbol="square-open", color=inks[NRANK_COLOURS:]),
        _squares(ranks, GPU_ROWS, gpus, top).update(
            mode="text", text=[str(r) for r in ranks], textfont={"color": inks}
        ),
    ]


def _squares(ranks: list[int], rows: tuple[float, float], gpus: int, top: float, **marker: object) -> go.Scatter:
    places = [_place(rank, rows, gpus, top) for rank in ranks]
    return go.Scatter(
        x=[x for x, _ in places],
        y=[y for _, y in places],
        mode="markers",
        marker={"symbol": "square", **marker},
        cliponaxis=False,
        hoverinfo="skip",
        hovertext=[],
    )


def _words(name: str, loads: Loads, gpus: int, top: float) -> go.Scatter:
    """The panel's headline; its table says the same, and what the busiest link inside carries."""
    sent, inside = out_of_nics(loads, gpus), [n for pair, n in loads.items() if not crosses(pair, gpus)]
    many, most = f"{len(sent)} of {NNODES * gpus}", nbytes_text(max(sent.values(), default=0))
    rows = {
        "NICs that send": many,
        "the busiest NIC sends": most,
        "the busiest pair inside": nbytes_text(max(inside, default=0)),
    }
    return go.Scatter(
        x=[-0.6] * len(rows),
        y=[top - 0.1] * len(rows),
        mode="text",
        name=name,
        text=[f"<b>{name}</b><br>{many} NICs send, the busiest {most}", *[""] * (len(rows) - 1)],
        textposition="bottom right",
        textfont={"color": colour("ink")},
        hovertext=[f"{what}: {value}" for what, value in rows.items()],
        hoverinfo="skip",
    )
