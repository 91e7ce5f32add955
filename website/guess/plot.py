"""The drawing of a curve that is guessed: axes, the true line, and over them a native slider for each point, which arrow keys move.

assets/guess/predict.js draws the reader's line; predict.css shows the true one once a guess was made.
"""

from html import escape

from website.guess.answers import spelled
from website.guess.curves import Drawn

LEFT, TOP, WIDE, HIGH = 64, 10, 400, 190  # pixels of the drawing: the axes' corner, and how far they reach
WHOLE = (LEFT + WIDE + 24, TOP + HIGH + 42)
NEXT = 90  # pixels that a name along the axis needs, in the letters of a telephone
FINE = 0.005  # of the axis: a step of an arrow key
START = 0.1  # of the axis: below the whole line, whose axis reaches ten times lower


def plot(line: Drawn, unit: str) -> str:
    """The whole of it."""
    count = len(line.labels)
    points = [(across(i, count), TOP + HIGH * (1 - line.height(value))) for i, value in enumerate(line.values)]
    truth = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    inputs = "".join(slider(line, i) for i in range(count))
    return (
        f'<div class="bim-predict-plot" style="--points:{count}">'
        f'<svg viewBox="0 0 {WHOLE[0]} {WHOLE[1]}" aria-hidden="true">{axes(line, unit)}'
        f'<polyline class="bim-predict-truth" points="{truth}"/><polyline class="bim-predict-mine" points=""/></svg>'
        f"{inputs}</div>"
    )


def across(i: int, count: int) -> float:
    """Where the i-th point stands: each has a column of the same width."""
    return LEFT + WIDE * (i + 0.5) / count


def axes(line: Drawn, unit: str) -> str:
    """Ticks with their units, and the names of the points as far as they have room."""
    rows = [(TOP + HIGH * (1 - line.height(tick)), spelled(tick, unit)) for tick in line.ticks]
    ticks = "".join(
        f'<path d="M{LEFT} {y:.1f}h{WIDE}"/><text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(said)}</text>'
        for y, said in rows
    )
    every = 1 if len(line.labels) * NEXT <= WIDE else 2
    names = "".join(
        f'<text x="{across(i, len(line.labels)):.1f}" y="{TOP + HIGH + 18}" text-anchor="middle">{escape(label)}</text>'
        for i, label in list(enumerate(line.labels))[::every]
    )
    title = f'<text x="{LEFT + WIDE / 2}" y="{WHOLE[1] - 6}" text-anchor="middle">{escape(line.across)}</text>'
    return f'{ticks}<path class="bim-predict-axis" d="M{LEFT} {TOP}v{HIGH}h{WIDE}"/>{names}{title}'


def slider(line: Drawn, i: int) -> str:
    """The point's own control, upright over its column; near the bottom until it is moved."""
    name = f"{line.across}, {line.labels[i]}" if line.across else line.labels[i]
    return f'<input type="range" min="0" max="1" step="{FINE}" value="{START}" style="--i:{i}" aria-label="{escape(name)}">'
