"""A guess made on a figure: a bar that is drawn, or a place that is marked, on an axis with its scale and what is known already.

:kind: bar      from nothing to the end of `:range: 400 ms`; `:bar:` says whose it is
:kind: order    a place between the ends of `:range: 1 µs to 10 s`, on a logarithmic axis
:beside: eight cards = nics_8; in order = one_nic_order     values of labs that stand on the axis, each with its name

The control is a native slider, which arrow keys move; assets/guess/predict.js draws the reader's bar, predict.css the true one
once it is told.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from sphinx.environment import BuildEnvironment

from website.guess.answers import Answer, read, said, spelled, units_like

FINE = 20  # places of a slider in each factor of ten, or in each 2^3 where the unit is one of bytes: KiB, MiB and GiB are among them
PARTS = 4  # in which ticks part an axis that begins at nothing
MOST = 6  # ticks
BYTES = 2.0**5


@dataclass(frozen=True)
class Axis:
    """low, high: its ends, in `unit`; low is 0 on one that is not logarithmic."""

    low: float
    high: float
    unit: str

    def at(self, value: float) -> float:
        """What the slider says there."""
        return math.log10(value) if self.low else value

    def place(self, value: float) -> str:
        """How far along, for a style."""
        first, last = self.at(self.low), self.at(self.high)
        return f"{100 * (self.at(value) - first) / (last - first):.4g}%"

    @property
    def ticks(self) -> list[float]:
        """A quarter each; on a logarithmic one powers of ten, or of two where the unit is one of bytes."""
        if not self.low:
            return [self.high * i / PARTS for i in range(PARTS + 1)]
        size = units_like(self.unit)[self.unit]
        power = BYTES if "KiB" in units_like(self.unit) else 10.0
        first = math.ceil(math.log(self.low * size, power) - 1e-9)
        last = math.floor(math.log(self.high * size, power) + 1e-9)
        return [power**k / size for k in range(first, last + 1, math.ceil((last - first + 1) / MOST))]

    @property
    def step(self) -> float:
        if not self.low:
            return self.high / 200
        return (math.log10(2**3) if "KiB" in units_like(self.unit) else 1) / FINE


def axis(kind: str, unit: str, ends: str, answer: Answer) -> Axis:
    """The axis of a block. ValueError where the truth is not between its ends."""
    low, high = ([0, ends] if kind == "bar" else [*ends.split(" to "), "", ""])[:2]
    made = Axis(low and read(str(low), unit).value, read(str(high), unit).value, unit)
    if not made.low < answer.value < made.high:
        raise ValueError(f"the answer {answer.text!r} lies outside of the range {ends!r}")
    return made


def known(env: BuildEnvironment, beside: str, unit: str) -> list[tuple[str, Answer]]:
    """What stands on the axis already, by its name. ValueError or KeyError for one that no lab keeps."""
    pairs = (one.rpartition(" = ") for one in beside.split(";") if one.strip())
    return [(name.strip(), read(said(env, "lab", key.strip(), unit), unit)) for name, _, key in pairs]


def drawn(name: str, on: Axis, answer: Answer, options: Mapping[str, str], beside: list[tuple[str, Answer]]) -> str:
    """The figure with its control, which begins at the low end, far from any answer."""
    ticks = "".join(f'<span style="--to:{on.place(tick)}">{escape(told(tick, on.unit))}</span>' for tick in on.ticks)
    rows = [
        row(f"<span>{escape(label)}, {escape(whole(one.text))}</span>", on.place(one.value)) for label, one in beside
    ]
    own = f'<label for="predict-{name}">{escape(options.get("bar", "Your guess"))}</label> <output for="predict-{name}">?</output>'
    first, last = on.at(on.low), on.at(on.high)
    control = (
        f'<b style="--to:{on.place(answer.value)}"></b><input id="predict-{name}" name="guess" type="range" '
        f'min="{first:.9g}" max="{last:.9g}" step="{on.step:.9g}" value="{first:.9g}">'
    )
    return (
        f'<div class="bim-predict-axis {"bim-predict-places" if on.low else "bim-predict-bars"}">'
        f'<div class="bim-predict-ticks" aria-hidden="true">{ticks}</div>{"".join(rows)}{row(own, "0%", control)}</div>'
    )


def row(names: str, to: str, control: str = "") -> str:
    """A line of the figure: its name, and how far it reaches."""
    return f'<div class="bim-predict-row">{names}<div><i style="--to:{to}"></i>{control}</div></div>'


def whole(text: str) -> str:
    """A number stays with its unit."""
    return text.replace(" ", "\xa0")


def told(tick: float, unit: str) -> str:
    """Nothing needs no unit, and what is counted says it beside the slider."""
    if tick and len(units_like(unit)) > 1:
        return spelled(tick, unit)
    return f"{tick:,.10g}" + (f" {unit}" if unit == "%" else "")
