"""The widget `holds`: a training step of four real ranks; what each holds of every layer at every moment. Chapters: data-parallel, sharded.

Everything drawn was recorded (`python -m helpers.parallel.holding`); the page says in JavaScript what Python says, tested equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import traitlets

from helpers.units import nbytes_text
from helpers.view.holds.steps import (
    CLASSES,
    NAMES,
    by_class,
    deed,
    holding,
    lead,
    matched,
    moments,
    nranks,
    states,
)
from helpers.view.shared.mount import Spec, fallback, mount
from helpers.view.shared.widget import SpecWidget


@dataclass(frozen=True)
class HoldsSpec(Spec):
    """The whole state of the widget. way, beside: keys of NAMES, beside "" for nothing; at: a moment of `way`; rank: who is told of."""

    way: str
    beside: str
    at: int
    rank: int


def holds_spec(way: str = "zero-3", beside: str = "", at: int = 0, rank: int = 0) -> HoldsSpec:
    """The state that the reader begins with. ValueError, naming what may stand there, on anything that was not recorded."""
    if way not in NAMES:
        raise ValueError(f"way must be one of {', '.join(NAMES)}, got {way!r}")
    if beside not in ("", *NAMES) or beside == way:
        others = ", ".join(name for name in NAMES if name != way)
        raise ValueError(f"beside {way} may stand one of {others}, or nothing, got {beside!r}")
    for name, value, most in (("at", at, len(moments(way)) - 1), ("rank", rank, nranks(way) - 1)):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise ValueError(f"{name} must be a whole number from 0 to {most}, got {value!r}")
    return HoldsSpec(way, beside, at, rank)


def holds_sentence(spec: HoldsSpec) -> str:
    """Which moment it is, what happens, what the rank holds; and the same of what stands beside."""
    said = " ".join([lead(spec.way, spec.at), deed(spec.way, spec.at), holding(spec.way, spec.at, spec.rank)])
    if not spec.beside:
        return said
    at = matched(spec.way, spec.at, spec.beside)
    return f"{said} {lead(spec.beside, at)} {holding(spec.beside, at, spec.rank)}"


def holds_html(spec: HoldsSpec) -> str:
    """The mount element: the spec, and for readers without JavaScript the sentence and what the rank holds, layer by layer."""
    sizes, how = by_class(spec.way, spec.at, spec.rank), states(spec.way, spec.at, spec.rank)
    rows = [
        (f"layer {i}", *(f"{nbytes_text(n)}, {state}" if n else state for n, state in zip(*both, strict=True)))
        for i, both in enumerate(zip(sizes, how, strict=True))
    ]
    head = ("Layer", *(name.capitalize() for name in CLASSES))
    title = f"Rank {spec.rank} under {NAMES[spec.way]}"
    return mount("holds", spec.as_json(), fallback(holds_sentence(spec), head, rows, title))


class HoldsWidget(SpecWidget):
    """Who holds what. `moment` is what is on show now, as it was recorded."""

    name = "holds"
    about = "a step"
    spec_of, said, mounted = map(staticmethod, (holds_spec, holds_sentence, holds_html))
    holdings = traitlets.Dict().tag(sync=True)

    @property
    def moment(self) -> dict:
        spec = HoldsSpec.read(self.spec)
        return moments(spec.way)[spec.at]


def explore_holds(way: str = "zero-3", beside: str = "", at: int = 0, rank: int = 0) -> HoldsWidget:
    """Who holds what, moment by moment: `explore_holds("zero-3")`, `explore_holds("zero-3", beside="ddp", at=14)`."""
    return HoldsWidget(holds_spec(way, beside, at, rank))
