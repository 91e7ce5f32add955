"""The widget `routing`: tokens of each rank, the slots of each expert, who is dropped, and the all_to_all that this makes.

The page routes by the same rule in JavaScript, tested equal. Chapter: expert.
"""

from __future__ import annotations

from helpers.collectives.routing import Routes
from helpers.units import nbytes_text
from helpers.view.routing.asked import ROW, RoutingSpec, routing_spec
from helpers.view.shared.mount import fallback, mount
from helpers.view.shared.widget import SpecWidget


def nearest(part: int, whole: int) -> int:
    """part / whole, rounded to a whole number, halves up: the same in JavaScript."""
    return (2 * part + whole) // (2 * whole)


def verdict(spec: RoutingSpec) -> str:
    """How many copies there are, and how many find no slot."""
    r = spec.routes
    said = f"{spec.nranks * spec.tokens} tokens make {r.asked} copies for {spec.experts} experts"
    if r.slots is None:
        return f"{said}. None is dropped: the ranks tell each other first how many come."
    slots = f"{r.slots} {'slot' if r.slots == 1 else 'slots'}"
    return (
        f"{said}, {slots} each for every rank's tokens. {r.dropped} find none, {nearest(100 * r.dropped, r.asked)} %."
    )


def compared(spec: RoutingSpec) -> str:
    """What ranks compute and send."""
    r, total = spec.routes, sum(spec.routes.loads)
    if r.slots is None:
        each = [sum(column) for column in zip(*r.matrix, strict=True)]
        hundredths = nearest(100 * max(each) * spec.nranks, total)
        most = f"Rank {each.index(max(each))} computes most, {max(each)} rows where the mean is {total / spec.nranks:g}"
        wait = f"{hundredths // 100}.{hundredths % 100:02d} times as long as with equal loads"
        leaving = [ROW * n for n in left(r)]
        return (
            f"{most}: the experts take {wait}. A rank sends {nbytes_text(min(leaving))} to {nbytes_text(max(leaving))}."
        )
    rows = spec.experts * r.slots
    full = nearest(100 * total, spec.nranks * rows)
    sent = nbytes_text(ROW * (spec.nranks - 1) * r.rows(0, 1))
    return f"Every rank computes {rows} rows and sends {sent}, filled or not; {full} % of the slots hold a copy."


def left(r: Routes) -> list[int]:
    """Rows that each rank sends to others."""
    return [sum(r.rows(src, dst) for dst in range(r.nranks) if dst != src) for src in range(r.nranks)]


def routing_sentence(spec: RoutingSpec) -> str:
    """The verdict, and what it costs."""
    return f"{verdict(spec)} {compared(spec)}"


def routing_html(spec: RoutingSpec) -> str:
    """The mount element: the spec, and for readers without JavaScript the sentence and the loads as a table."""
    r = spec.routes
    head = ("Rank", *(f"to rank {dst}" for dst in range(spec.nranks)), "dropped")
    asked = spec.tokens * spec.top_k
    rows = [(f"{src}", *row, asked - sum(row)) for src, row in enumerate(r.matrix)]
    title = "Copies of tokens, by the rank that sends them"
    return mount("routing", spec.as_json(), fallback(routing_sentence(spec), head, rows, title))


class RoutingWidget(SpecWidget):
    """Tokens on their way to experts. `routes` is what is shown now."""

    name = "routing"
    about = "a routing"
    spec_of, said, mounted = map(staticmethod, (routing_spec, routing_sentence, routing_html))

    @property
    def routes(self) -> Routes:
        return RoutingSpec.read(self.spec).routes


def explore_routing(**asked: object) -> RoutingWidget:
    """Tokens to experts: `explore_routing(tokens=8, experts=8, top_k=2, capacity=1.25, nranks=4, skew=50)`; capacity 0: no limit."""
    return RoutingWidget(routing_spec(**asked))
