"""The widget `primitive`: a rank-by-slot matrix before and after one call of torch, with the reader's own numbers. Chapter: primitives.

What a primitive does to numbers is told by `helpers.collectives.outcome`; the page computes the same in JavaScript, tested equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import traitlets

from helpers.collectives import PRIMITIVES, find_primitive, origins, outcome
from helpers.collectives.outcomes import givers
from helpers.view.primitive.rows import Rows, Values, list_text, read_values, whole
from helpers.view.shared.mount import Spec, fallback, mount
from helpers.view.shared.widget import SpecWidget

NRANKS = range(2, 17)
SLOTS = 16  # the most numbers that a rank may hold, before or after


@dataclass(frozen=True)
class PrimitiveSpec(Spec):
    """The whole state of the widget: a call of torch, and the numbers that every rank has before it. values: a row per rank."""

    primitive: str
    nranks: int
    root: int
    op: str
    values: Rows


def primitives() -> list[dict]:
    """What the widget must know of every primitive, as plain data: its lines of torch, its volumes, who gives and who gets."""
    return [
        {
            **{field: getattr(p, field) for field in ("name", "kind", "call", "prepare", "result", "use")},
            **{flag: getattr(p, flag) for flag in ("rooted", "reduces", "even")},
            "gives": _who(givers(p.name, 4, 1)),
            "gets": _who(getters(p.name)),
            "volumes": [{"who": v.who, "sends": v.sends, "receives": v.receives} for v in p.volumes],
        }
        for p in PRIMITIVES.values()
    ]


def getters(name: str, nranks: int = 4, root: int = 1) -> tuple[int, ...]:
    """The ranks to whom something is promised."""
    return tuple(rank for rank, parts in enumerate(origins(name, nranks, root)) if parts)


def _who(ranks: tuple[int, ...]) -> str:
    return {(0, 1, 2, 3): "all", (1,): "root", (1, 2): "peer"}[ranks]


def primitive_spec(name: str, nranks: int = 4, values: Values = None, root: int = 0, op: str = "sum") -> PrimitiveSpec:
    """The state that the reader begins with; values as `read_values` takes them.

    ValueError on an unknown primitive or op, 1 or more than 16 ranks, a root or an op where the primitive takes none, or values
    that do not fit it.
    """
    made = find_primitive(name)
    if not isinstance(nranks, int) or nranks not in NRANKS:
        raise ValueError(f"the widget draws {NRANKS[0]} to {NRANKS[-1]} ranks, got nranks={nranks!r}")
    if root and not made.rooted:
        raise ValueError(f"{name} takes no root, got root={root!r}")
    if not isinstance(root, int) or root not in range(nranks):
        raise ValueError(f"root must be a rank in 0..{nranks - 1}, got {root!r}")
    if op != "sum" and not made.reduces:
        raise ValueError(f"{name} takes no op, got op={op!r}")
    rows = read_values(name, nranks, values, root)
    spec = PrimitiveSpec(name, nranks, root, op, rows)
    _refuse(spec)
    return spec


def _refuse(spec: PrimitiveSpec) -> None:
    """ValueError unless the spec can be computed and drawn."""
    if len({len(row) for row in spec.values}) != 1:
        raise ValueError(f"values: every rank needs equally many, got {[len(row) for row in spec.values]}")
    longest = max(len(row or ()) for row in [*spec.values, *after(spec)])
    if longest > SLOTS:
        raise ValueError(f"the widget draws at most {SLOTS} numbers per rank, {spec.primitive} would hold {longest}")


def before(spec: PrimitiveSpec) -> list[list[float] | None]:
    """What every rank gives; None where its buffer does not matter."""
    gives = givers(spec.primitive, spec.nranks, spec.root)
    return [row if rank in gives else None for rank, row in enumerate(spec.values)]


def after(spec: PrimitiveSpec) -> list[list[float] | None]:
    """What every rank holds after the call; None where nothing is promised. Computed in float64, as the page does."""
    given = [row and [float(value) for value in row] for row in before(spec)]
    held = outcome(spec.primitive, given, spec.root, spec.op)
    return [row and [whole(value) for value in row] for row in held]


def primitive_sentence(spec: PrimitiveSpec) -> str:
    """all_reduce (sum) on 4 ranks: rank 0 gives [1, 2, 3, 4] and ends with [64, 68, 72, 76]."""
    made, starts, ends = find_primitive(spec.primitive), before(spec), after(spec)
    giving, getting = ([rank for rank, row in enumerate(rows) if row] for rows in (starts, ends))
    giver = giving[0]
    others = [rank for rank in getting if rank != giver]
    getter = giver if giver in getting and len(giving) > 1 else others[0]
    op = f" ({spec.op})" if made.reduces else ""
    gives, gets, unit = ("arrives at", "leaves at", " ms") if made.name == "barrier" else ("gives", "ends with", "")
    who = " and" if getter == giver else f", rank {getter}"
    told = f"rank {giver} {gives} {list_text(starts[giver])}{who} {gets} {list_text(ends[getter])}{unit}"
    return f"{made.name}{op} on {spec.nranks} ranks: {told}"


def primitive_html(spec: PrimitiveSpec) -> str:
    """The mount element: the spec, and for readers without JavaScript one sentence and every rank's numbers as a table."""
    made = find_primitive(spec.primitive)
    pairs = zip(before(spec), after(spec), strict=True)
    rows = [(f"rank {rank}", list_text(given), list_text(held)) for rank, (given, held) in enumerate(pairs)]
    call = made.line(spec.nranks, spec.root, spec.op)
    text = fallback(f"{primitive_sentence(spec)}. {made.use}", ("Rank", "Before", "After"), rows, call)
    return mount("primitive", spec.as_json(), text)


class PrimitiveWidget(SpecWidget):
    """One primitive before and after, on values that the reader may change. `before` and `after` are what stands there now."""

    name = "primitive"
    about = "a primitive"
    said, mounted = map(staticmethod, (primitive_sentence, primitive_html))
    primitives = traitlets.List().tag(sync=True)

    def read(self, data: dict) -> PrimitiveSpec:
        asked = PrimitiveSpec.read(data)
        return primitive_spec(asked.primitive, asked.nranks, asked.values, asked.root, asked.op)

    @property
    def before(self) -> list[list[float] | None]:
        """What every rank gives."""
        return before(PrimitiveSpec.read(self.spec))

    @property
    def after(self) -> list[list[float] | None]:
        """What every rank holds after the call."""
        return after(PrimitiveSpec.read(self.spec))


def primitive(
    name: str = "all_reduce", nranks: int = 4, values: Values = None, root: int = 0, op: str = "sum"
) -> PrimitiveWidget:
    """One primitive, before and after: `primitive("all_gather", nranks=4, values="1 2 3 4")`. Values as in `read_values`."""
    return PrimitiveWidget(primitive_spec(name, nranks, values, root, op))
