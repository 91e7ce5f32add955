"""As much of plotly.graph_objects as the library's figures use: trees of values that become plotly's JSON, unchecked."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from copy import deepcopy

# Names that hold further names, and names that hold a "_" themselves.
BRANCH = re.compile(r"[xy]axis\d*|title|font|line|marker|margin|legend|hoverlabel|template|pad|error_[xy]")
WHOLE = {"plot_bgcolor", "paper_bgcolor", "error_x", "error_y"}
AS_GIVEN = {"meta", "customdata", "template"}
LISTS = {"annotations", "shapes"}  # plotly leaves out empty ones


class Node:
    """A part of a figure: `part.title.text`, `part["title"]`, `part.update(title_text="...")`. What is not set is None."""

    def __init__(self, given: Mapping | Node | None = None, **more: object):
        self.__dict__["values"] = {}
        self.update(given, **more)

    def update(self, given: Mapping | Node | None = None, overwrite: bool = False, **more: object) -> Node:
        """Set what is given, part by part."""
        told = given.values if isinstance(given, Node) else given or {}
        for name, value in {**told, **more}.items():
            old = self.values.get(name)
            if isinstance(old, Node) and isinstance(value, Mapping | Node) and not overwrite:
                old.update(value)
            else:
                self[name] = value
        return self

    def __getitem__(self, name: str) -> object:
        if name not in self.values and BRANCH.fullmatch(name):
            self.values[name] = Node()
        return self.values.get(name)

    def __setitem__(self, name: str, value: object) -> None:
        first, _, rest = name.partition("_")
        if rest and name not in WHOLE:
            self[first].update({rest: value})
        elif value is None or (name in LISTS and not value):
            self.values.pop(name, None)
        elif name == "title" and isinstance(value, str):
            self.values[name] = Node(text=value)
        else:
            self.values[name] = value if name in AS_GIVEN else _kept(value)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __setattr__(self, name: str, value: object) -> None:
        self[name] = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_plotly_json() == other.to_plotly_json()

    def to_plotly_json(self) -> dict:
        """Plain data, without parts in which nothing is set."""
        plain = {name: _plain(value) for name, value in self.values.items()}
        return {name: value for name, value in plain.items() if value != {}}


Layout = Node


class Scatter(Node):
    """A trace of points."""

    kind = "scatter"

    def __init__(self, **values: object):
        super().__init__(values, type=self.kind)


class Bar(Scatter):
    """A trace of bars."""

    kind = "bar"


class Figure:
    """Traces and a layout."""

    def __init__(self, data: Figure | Iterable[Node] | Node = (), layout: Mapping | Node | None = None):
        if isinstance(data, Figure):
            data, layout = data.data, data.layout
        self.data = tuple(deepcopy([data] if isinstance(data, Node) else list(data or ())))
        self.layout = Layout(deepcopy(layout))

    def add_trace(self, trace: Node) -> Figure:
        """One more."""
        return self.add_traces([trace])

    def add_traces(self, traces: Iterable[Node]) -> Figure:
        """More of them."""
        self.data += tuple(deepcopy(list(traces)))
        return self

    def update_layout(self, given: Mapping | None = None, **more: object) -> Figure:
        """Part by part."""
        self.layout.update(given, **more)
        return self

    def update_xaxes(self, given: Mapping | None = None, **more: object) -> Figure:
        """All that there are."""
        return self._update("xaxis", given, more)

    def update_yaxes(self, given: Mapping | None = None, **more: object) -> Figure:
        """All that there are."""
        return self._update("yaxis", given, more)

    def _update(self, axis: str, given: Mapping | None, more: dict) -> Figure:
        for name in {axis, *(name for name in self.layout.values if name.startswith(axis))}:
            self.layout[name].update(given, **more)
        return self

    def add_annotation(self, **values: object) -> Figure:
        """Words in the figure."""
        return self._append("annotations", values)

    def add_hline(self, y: float, **values: object) -> Figure:
        """A line across."""
        across = {"type": "line", "x0": 0, "x1": 1, "xref": "x domain", "y0": y, "y1": y, "yref": "y"}
        return self._append("shapes", {**across, **values})

    def add_vline(self, x: float, **values: object) -> Figure:
        """A line up."""
        up = {"type": "line", "x0": x, "x1": x, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain"}
        return self._append("shapes", {**up, **values})

    def _append(self, name: str, values: dict) -> Figure:
        self.layout[name] = (*(self.layout[name] or ()), Node(values))
        return self

    def to_plotly_json(self) -> dict:
        """{"data": [...], "layout": {...}}."""
        return {"data": [trace.to_plotly_json() for trace in self.data], "layout": self.layout.to_plotly_json()}

    __eq__ = Node.__eq__

    def to_json(self, **_: object) -> str:
        """The same as text."""
        return json.dumps(self.to_plotly_json())

    def _repr_mimebundle_(self, **_: object) -> dict:
        return {"application/vnd.plotly.v1+json": self.to_plotly_json(), "text/plain": repr(self)}


def _kept(value: object) -> object:
    if isinstance(value, Mapping):
        return Node(value)
    return tuple(map(_kept, value)) if isinstance(value, list | tuple | range) else value


def _plain(value: object) -> object:
    if isinstance(value, Node):
        return value.to_plotly_json()
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else [_plain(one) for one in value]
