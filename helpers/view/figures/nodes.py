"""What two nodes of GPUs send inside and across: every GPU with its NIC, links as wide as the bytes that they carry. Chapter: hierarchy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import plotly.graph_objects as go

from helpers.units import nbytes_text
from helpers.view.figures.drawing import SILENT, Point, framed, headline, lines, rank_squares, sheet
from helpers.view.shared.tokens import colour

Loads = Mapping[tuple[int, int], float]  # (src, dst): bytes, one way
NNODES = 2
GPU, NIC = 26, 11  # sides of their squares in pixels
WIDEST = 10  # pixels, for the largest load of all panels
TALL = 5.7  # of one panel: two lines of words, then a row of GPUs, their NICs, those of the other node, and its GPUs
GPU_ROWS, NIC_ROWS = (-2.0, -4.8), (-2.8, -4.0)


def two_nodes(panels: Mapping[str, Loads], gpus: int, title: str) -> go.Figure:
    """One panel for every schedule, on one scale. panels: by name, the bytes that go from rank to rank; gpus: per node, a NIC each.

    The line between two ranks is as wide as the larger of its two directions; between nodes it goes from NIC to NIC.
    ValueError when nothing is sent, or by a rank that is in neither node.
    """
    for name, loads in panels.items():
        _refuse(name, loads, gpus)
    figure = sheet(title)
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
    x, y = [-0.7, gpus - 0.3], [-len(panels) * TALL - 0.2, 0.1]
    busy = f"NICs that send, of {NNODES * gpus}", 0
    most = ("the busiest NIC sends", 1, "B"), ("the busiest pair inside sends", 2, "B")
    return framed(figure, 64 + 210 * len(panels), x, y, ("schedule", "name"), busy, *most)


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


def _place(rank: int, rows: tuple[float, float], gpus: int, top: float) -> Point:
    return rank % gpus, top + rows[rank // gpus]


def _links(loads: Loads, gpus: int, top: float, scale: float) -> list[go.Scatter]:
    """Between GPUs inside a node, and between nodes from GPU to NIC to NIC to GPU; all of one width and kind are one trace."""
    alike: dict[tuple[float, bool, bool], list[list[Point]]] = {}
    for points, nbytes, across in _paths(loads, gpus, top):
        paths = alike.setdefault((round(max(1.0, nbytes * scale), 2), across, len(points) == 3), [])
        if len(points) == 2 and paths and paths[-1][-1] == points[0]:
            paths[-1][-1] = points[1]  # a row of neighbours goes on where the one before ended
        else:
            paths.append(points)
    return [_lines(paths, wide, across, arched) for (wide, across, arched), paths in alike.items()]


def _paths(loads: Loads, gpus: int, top: float) -> Iterator[tuple[list[Point], float, bool]]:
    """(points, bytes of the larger direction, whether between nodes) of every pair of ranks."""
    larger: dict[tuple[int, int], float] = {}
    for pair, nbytes in loads.items():
        ends = min(pair), max(pair)
        larger[ends] = max(larger.get(ends, 0.0), nbytes)
    for (a, b), nbytes in sorted(larger.items()):
        start, end = (_place(rank, GPU_ROWS, gpus, top) for rank in (a, b))
        if crosses((a, b), gpus):
            nics = [_place(rank, NIC_ROWS, gpus, top) for rank in (a, b)]
            # Along a rail it is one straight line
            yield ([start, *(nics if start[0] != end[0] else ()), end], nbytes, True)
        else:
            yield [start, end] if b - a == 1 else _arch(start, end, a // gpus), nbytes, False


def _arch(a: Point, b: Point, node: int) -> list[Point]:
    """Round the GPUs that stand between the two: over them in the first node, under them in the second."""
    lift = 0.62 if node == 0 else -0.62
    return [a, ((a[0] + b[0]) / 2, a[1] + lift), b]


def _lines(paths: list[list[Point]], wide: float, across: bool, arched: bool) -> go.Scatter:
    rounded = [[(x, round(y, 2)) for x, y in path] for path in paths]
    return lines(rounded, "accent" if across else "edge", width=wide, shape="spline" if arched else "linear")


def _nics(loads: Loads, gpus: int, top: float) -> Iterator[go.Scatter]:
    """Filled where something goes through, hollow where the NIC is idle."""
    busy = {rank for pair, nbytes in loads.items() if crosses(pair, gpus) and nbytes for rank in pair}
    for node in range(NNODES):
        ranks = range(node * gpus, (node + 1) * gpus)
        for used, symbol, fill in ((True, "square", "accent"), (False, "square-open", "edge")):
            if places := [rank % gpus for rank in ranks if (rank in busy) == used]:
                yield _row(places, top + NIC_ROWS[node], {"symbol": symbol, "size": NIC, "color": colour(fill)})


def _gpus(gpus: int, top: float) -> Iterator[go.Scatter]:
    """Hollow squares in the ranks' colours, which repeat along a rail; the number tells two of one colour apart."""
    for node in range(NNODES):
        ranks = range(node * gpus, (node + 1) * gpus)
        row = _row(list(range(gpus)), top + GPU_ROWS[node], rank_squares(ranks, GPU))
        yield row.update(mode="markers+text", text=[str(rank) for rank in ranks], textfont={"color": colour("ink")})


def _row(places: list[int], height: float, marker: dict) -> go.Scatter:
    # plotly takes a dy of 0 for 1
    return go.Scatter(x=places, y0=round(height, 2), dy=1e-9, mode="markers", marker=marker, **SILENT)


def _words(name: str, loads: Loads, gpus: int, top: float) -> go.Scatter:
    """The panel's headline; its table says the same, and what the busiest link inside carries."""
    sent, inside = out_of_nics(loads, gpus), [n for pair, n in loads.items() if not crosses(pair, gpus)]
    many, most = f"{len(sent)} of {NNODES * gpus}", max(sent.values(), default=0)
    said = f"<b>{name}</b><br>{many} NICs send, the busiest {nbytes_text(most)}"
    return headline((-0.6, top - 0.1), name, said, [len(sent), most, max(inside, default=0)])
