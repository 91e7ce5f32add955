"""What a network of leaf and spine switches carries: a leaf for each rail, lines as wide as their bytes. Chapter: interconnects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import plotly.graph_objects as go

from helpers.units import nbytes_text
from helpers.view.figures.drawing import framed, headline, lines, marks, rank_squares, sheet, square

Loads = Mapping[tuple[int, int], float]  # (src, dst): bytes, one way
Place = tuple[str, int]  # ("gpu", rank), ("leaf", rail) or ("spine", number)
Wires = Mapping[tuple[Place, Place], float]  # bytes, one way
ROWS = {"spine": -1.9, "leaf": -3.3, "gpu": -5.0}
NODE, TALL = -5.75, 6.5  # the names of the nodes below their GPUs, and one panel
GPU, SWITCH = 24, 16  # sides of their squares in pixels
WIDEST = 9  # pixels, for the largest load of all panels


def leaf_spine(panels: Mapping[str, Loads], nodes: int, gpus: int, spines: int, title: str) -> go.Figure:
    """One panel for every pattern of messages between nodes, on one scale. panels: by name, the bytes from rank to rank.

    GPU i of every node goes to leaf i, every leaf to every spine; what climbs is spread evenly over the spines. A line is as wide as
    the larger of its two directions. ValueError for no message, a message inside a node, or a rank that is in no node.
    """
    carried = {name: through(loads, nodes, gpus, spines) for name, loads in panels.items()}
    scale = WIDEST / max(max(wires.values()) for wires in carried.values())
    figure = sheet(title)
    for i, (name, wires) in enumerate(carried.items()):
        top, shape = -i * TALL, (nodes, gpus, spines)
        figure.add_traces([*_lines(wires, shape, top, scale), *_marks(shape, top), _words(name, wires, top)])
    x, y = [-0.8, _width(nodes, gpus) + 0.8], [-len(panels) * TALL + 0.2, 0.1]
    most = ("a GPU's wire carries", 0, "B"), ("a wire to a spine carries", 1, "B")
    return framed(figure, 64 + 253 * len(panels), x, y, ("messages", "name"), *most)


def through(loads: Loads, nodes: int, gpus: int, spines: int) -> Wires:
    """Bytes of every wire, one way: along a rail by one leaf, from rail to rail by leaf, spine and leaf."""
    if not loads or min(loads.values()) <= 0:
        raise ValueError("a picture of messages wants at least one, each of some bytes")
    found: dict[tuple[Place, Place], float] = defaultdict(float)
    for (src, dst), nbytes in loads.items():
        if not (0 <= src < nodes * gpus and 0 <= dst < nodes * gpus) or src // gpus == dst // gpus:
            raise ValueError(f"a message goes from one of {nodes} nodes of {gpus} to another, got {src} to {dst}")
        first, last = ("leaf", src % gpus), ("leaf", dst % gpus)
        found[("gpu", src), first] += nbytes
        found[last, ("gpu", dst)] += nbytes
        for spine in range(spines if first != last else 0):
            found[first, ("spine", spine)] += nbytes / spines
            found[("spine", spine), last] += nbytes / spines
    return found


def busiest(wires: Wires, kind: str) -> float:
    """Bytes of the wire that carries most, of those with an end at a "gpu" or a "spine"."""
    return max((nbytes for ends, nbytes in wires.items() if kind in (ends[0][0], ends[1][0])), default=0)


def _width(nodes: int, gpus: int) -> int:
    return nodes * (gpus + 1) - 2


def _place(place: Place, shape: tuple[int, int, int], top: float) -> tuple[float, float]:
    """Nodes side by side with a gap between them; switches spread evenly over the same width."""
    (kind, number), (nodes, gpus, spines) = place, shape
    if kind == "gpu":
        return number + number // gpus, round(top + ROWS[kind], 2)
    return (number + 0.5) * _width(nodes, gpus) / (gpus if kind == "leaf" else spines), round(top + ROWS[kind], 2)


def _lines(wires: Wires, shape: tuple[int, int, int], top: float, scale: float) -> Iterator[go.Scatter]:
    """Every wire once; those of one width are one trace. An idle one is thin and grey."""
    nodes, gpus, spines = shape
    ends = [(("gpu", rank), ("leaf", rank % gpus)) for rank in range(nodes * gpus)]
    ends += [(("leaf", leaf), ("spine", spine)) for leaf in range(gpus) for spine in range(spines)]
    alike: dict[float, list] = {}
    for a, b in ends:
        nbytes = max(wires.get((a, b), 0), wires.get((b, a), 0))
        alike.setdefault(round(max(2.0, nbytes * scale), 2) if nbytes else 1.0, []).append((a, b))
    for wide, pairs in sorted(alike.items()):
        paths = [(_place(a, shape, top), _place(b, shape, top)) for a, b in pairs]
        yield lines(paths, "accent" if wide > 1 else "edge", width=wide)


def _marks(shape: tuple[int, int, int], top: float) -> Iterator[go.Scatter]:
    """GPUs in their ranks' colours with their numbers; switches filled, spines above leaves."""
    nodes, gpus, spines = shape
    ranks = range(nodes * gpus)
    for kind, count in (("spine", spines), ("leaf", gpus)):
        names = [f"{kind} {number}" for number in range(count)]
        places = [_place((kind, n), shape, top) for n in range(count)]
        yield marks(places, square("edge", SWITCH), names, "top center")
    places = [_place(("gpu", rank), shape, top) for rank in ranks]
    yield marks(places, rank_squares(ranks, GPU), [str(rank) for rank in ranks])
    middles = [(node * (gpus + 1) + (gpus - 1) / 2, round(top + NODE, 2)) for node in range(nodes)]
    yield marks(middles, {"size": 1, "opacity": 0}, [f"node {node}" for node in range(nodes)])


def _words(name: str, wires: Wires, top: float) -> go.Scatter:
    """The panel's headline; its table says the same."""
    own, up = busiest(wires, "gpu"), busiest(wires, "spine")
    said = f"{nbytes_text(up)} on a spine's" if up else "nothing on a spine's"
    text = f"<b>{name}</b><br>{nbytes_text(own)} on a GPU's wire, {said}"
    return headline((-0.7, top - 0.1), name, text, [own, up])
