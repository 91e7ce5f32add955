"""A trace as a picture that needs nothing: one SVG, stacked by class, with its stages and its peak. Chapters: training-memory."""

from __future__ import annotations

from html import escape

import numpy as np

from helpers.memory import CLASSES, Trace
from helpers.units import MIB

WIDTH, HEIGHT = 720, 376
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 60, 64
TOPS = (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8)  # each has quarters that are short to write
# The course's own colours of the classes, light and dark: assets/tokens.json, memory-*.
COLOURS = {
    "parameter": ("#335e8b", "#6f9ed1"),
    "gradient": ("#40989d", "#8be0e3"),
    "optimizer": ("#415b1e", "#7a9759"),
    "input": ("#635f68", "#716c68"),
    "cache": ("#7c6fdf", "#805edd"),
    "activation": ("#aa8950", "#ffdea6"),
    "communication": ("#562a51", "#9b6c95"),
    "temporary": ("#886458", "#daa795"),
}
STYLE = """
text {{ font: 12px system-ui, sans-serif; fill: #1d2025; }} line {{ stroke: #dedad0; }} .peak {{ stroke: #1d2025; }}
{light}
@media (prefers-color-scheme: dark) {{ svg {{ background: #16181c; }} text {{ fill: #e9e7e2; }} line {{ stroke: #353a42; }}
.peak {{ stroke: #e9e7e2; }} {dark} }}"""


def svg(trace: Trace, title: str) -> str:
    """The picture as text. The axis counts events, not seconds: a step on meta takes none."""
    top = _ceiling(int(trace.total.max(initial=1)))
    scale = _Scale(len(trace), top)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
    parts = [head, f"<title>{escape(title)}</title><style>{_style()}</style>"]
    parts += [_text(LEFT, 18 + 16 * row, line.strip()) for row, line in enumerate(title.split("; ", 1))]
    parts += [_grid(scale, top), *_areas(trace, scale), *_marks(trace, scale), _peak(trace, scale), *_legend(trace)]
    return "\n".join([*parts, "</svg>\n"])


class _Scale:
    """From events and bytes to the picture's units."""

    def __init__(self, events: int, top: int) -> None:
        self.events, self.top = max(events - 1, 1), top

    def x(self, index: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * index / self.events

    def y(self, nbytes: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * nbytes / self.top


def _ceiling(nbytes: int) -> int:
    """The next of TOPS times a power of ten of MiB; never below a hundredth."""
    step = MIB / 100
    while True:
        for factor in TOPS:
            if step * factor >= nbytes:
                return int(step * factor)
        step *= 10


def _areas(trace: Trace, scale: _Scale) -> list[str]:
    """One path a class, each on top of those before; a step in the curve stays a step."""
    levels = np.concatenate([np.zeros((len(trace), 1), dtype=np.int64), trace.by_class.cumsum(axis=1)], axis=1)
    paths = []
    for column, cls in enumerate(CLASSES):
        low, high = levels[:, column], levels[:, column + 1]
        if (high > low).any():
            upper, lower = _steps(high, scale), _steps(low, scale)
            points = " L".join([*upper, *reversed(lower)])
            paths.append(f'<path class="{cls}" d="M{points}Z"><title>{cls}</title></path>')
    return paths


def _steps(level: np.ndarray, scale: _Scale) -> list[str]:
    """Corners of the curve, only where it changes."""
    ends = np.flatnonzero(np.diff(level))
    corners = [(0, level[0])]
    for end in ends:
        corners += [(end + 1, level[end]), (end + 1, level[end + 1])]
    corners.append((len(level) - 1, level[-1]))
    return [f"{scale.x(x):.1f} {scale.y(y):.1f}" for x, y in corners]


def _grid(scale: _Scale, top: int) -> str:
    lines = []
    for part in range(5):
        level = top * part / 4
        y = scale.y(level)
        lines.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(_text(LEFT - 6, y + 4, f"{level / MIB:g}", "end"))
    return "\n".join([*lines, _text(LEFT - 6, TOP - 10, "MiB", "end")])


def _marks(trace: Trace, scale: _Scale) -> list[str]:
    """A line at every stage; names on two rows, so that neighbours do not meet."""
    drawn = []
    for number, (index, name, _) in enumerate(trace.marks):
        x = scale.x(index)
        anchor = "end" if x > WIDTH / 2 else "start"
        drawn.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke-dasharray="2 3"/>')
        drawn.append(_text(x, HEIGHT - BOTTOM + 16 + 14 * (number % 2), name, anchor))
    return drawn


def _peak(trace: Trace, scale: _Scale) -> str:
    peak = trace.peak
    x, y = scale.x(peak.index), scale.y(peak.nbytes)
    anchor, shift = ("end", -6) if x > WIDTH / 2 else ("start", 6)
    said = _text(x + shift, y - 4, f"peak {peak.nbytes / MIB:.2f} MiB, {peak.phase} {peak.module}".strip(), anchor)
    return f'<line class="peak" x1="{x:.1f}" x2="{x:.1f}" y1="{y:.1f}" y2="{y - 10:.1f}"/>{said}'


def _legend(trace: Trace) -> list[str]:
    found, x = [], LEFT
    for column, cls in enumerate(CLASSES):
        if trace.by_class[:, column].any():
            found.append(f'<rect class="{cls}" x="{x}" y="{HEIGHT - 16}" width="10" height="10"/>')
            found.append(_text(x + 14, HEIGHT - 7, cls))
            x += 34 + 7 * len(cls)
    return found


def _style() -> str:
    light, dark = (" ".join(f".{cls} {{ fill: {pair[i]}; }}" for cls, pair in COLOURS.items()) for i in (0, 1))
    return STYLE.format(light=light, dark=dark)


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
