"""A curve to draw before the chart shows it: the axes and the points of one line of a lab's chart.

:chart: by-size
:line: ring, prediction
"""

import json
import math
import re
from dataclasses import dataclass, replace
from html import unescape
from typing import Any

from sphinx.environment import BuildEnvironment

from website.guess.answers import units_like
from website.lab import chart, locate, outputs

MOST = 7  # points to set; more of them are no more of an idea
ROOM = 10  # times more and less than the line, at which the axis ends: it must not tell where the line lies
TICKS = 5


@dataclass(frozen=True)
class Drawn:
    """labels, values: a point's name along the axis, and its truth in the unit asked for; low, high: where the axis ends.

    chart, name: where on the page the line is drawn.
    """

    across: str
    up: str
    labels: list[str]
    values: list[float]
    low: float
    high: float
    chart: str = ""
    name: str = ""

    @property
    def ticks(self) -> list[float]:
        """Powers of ten, every one or every second or third."""
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        powers = [10.0**k for k in range(first, last + 1)]
        return powers[:: math.ceil(len(powers) / TICKS)]

    def height(self, value: float) -> float:
        """0 at the bottom of the axis, 1 at its top."""
        return math.log(value / self.low) / math.log(self.high / self.low)


def drawn(env: BuildEnvironment, options: dict[str, str]) -> Drawn:
    """The line that the options name. ValueError or KeyError where there is none, or where it cannot be drawn."""
    stem, name = locate(env, options["chart"])
    html = chart(outputs(env, stem), name)
    spec = json.loads(unescape(re.search(r'data-spec="([^"]*)"', html)[1]))
    lines = {trace.get("name"): trace for trace in spec["data"] if isinstance(trace.get("y"), list)}
    if options["line"] not in lines:
        known = ", ".join(filter(None, lines))
        raise ValueError(f"the chart {name!r} has no line {options['line']!r}; it has: {known}")
    made = of_trace(lines[options["line"]], spec["layout"], options["unit"])
    return replace(made, chart=name, name=options["line"])


def of_trace(trace: dict[str, Any], layout: dict[str, Any], unit: str) -> Drawn:
    """The trace on log axes of its own; its values count in the base of the unit's kind: seconds, bytes."""
    scale = units_like(unit)[unit]
    points = [points_of(trace)[i] for i in evenly(len(trace["y"]))]
    values = [value / scale for _, value in points]
    if min(values) <= 0:
        raise ValueError("a line can be drawn where all its values are more than zero")
    title = layout["xaxis"].get("title", {}).get("text", "")
    power = math.ceil(math.log10(max(values) * ROOM) - 1e-9)
    low = 10.0 ** math.floor(math.log10(min(values) / ROOM) + 1e-9)
    return Drawn(title, unit, [label for label, _ in points], values, low, 10.0**power)


def points_of(trace: dict[str, Any]) -> list[tuple[str, float]]:
    """(name along the axis, value); a hover text "64 KiB: 25 µs" names its place with the unit."""
    names = trace.get("hovertext") or [f"{x:.4g}" for x in trace["x"]]
    return [(name.partition(": ")[0], float(y)) for name, y in zip(names, trace["y"], strict=True)]


def evenly(count: int) -> list[int]:
    """The places of at most MOST points among so many, first and last among them."""
    if count <= MOST:
        return list(range(count))
    return [round(i * (count - 1) / (MOST - 1)) for i in range(MOST)]
