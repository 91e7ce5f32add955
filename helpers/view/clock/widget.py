"""The widget `clock`: one message from GPU to GPU under LL, LL128 and Simple, drawn over one time.

The times are the link's price, the lines are those of `helpers.nccl.protocols`; the page computes the same in JavaScript, tested
equal. Chapter: inside-nccl.
"""

from __future__ import annotations

from dataclasses import dataclass

import traitlets

from helpers.nccl.protocols import LEAST_SLICE, PROTOCOLS
from helpers.units import nbytes_text, parse_nbytes, seconds_text
from helpers.view.clock.lanes import KNOWN, Lane, lanes, moment
from helpers.view.shared.mount import Spec, fallback, mount
from helpers.view.shared.widget import SpecWidget
from helpers.view.shared.words import column, listed

SIZES = [2**n for n in range(3, 29)]


@dataclass(frozen=True)
class ClockSpec(Spec):
    """The whole state of the widget: a link by its slug, bytes of the message, the clock in nanoseconds."""

    link: str
    nbytes: int
    at: int

    @property
    def lanes(self) -> list[Lane]:
        return lanes(KNOWN[self.link], self.nbytes)


def protocols() -> list[dict]:
    """What the widget must know of every protocol: bytes of a line and of its data, or of a chunk and of the least slice."""
    return [
        {"name": name, "line": one.line, "data": one.data, "chunk": one.chunk, "least": LEAST_SLICE}
        for name, one in PROTOCOLS.items()
    ]


def clock_spec(nbytes: int | str = "64 KiB", link: str = "nvlink-4", at: int | None = None) -> ClockSpec:
    """The state that the reader begins with: a size, bytes or words; at: nanoseconds, the end of the first lane unless told.

    ValueError on a link that lacks a protocol, a size that is no power of two or beyond the slider, a time beyond the last end.
    """
    if link not in KNOWN:
        raise ValueError(f"link must be one that knows {listed([*PROTOCOLS])}: {', '.join(KNOWN)}; got {link!r}")
    size = parse_nbytes(nbytes)
    if isinstance(nbytes, bool) or size not in SIZES:
        few, many = nbytes_text(SIZES[0]), nbytes_text(SIZES[-1])
        raise ValueError(f"nbytes must be a power of two from {few} to {many}, got {nbytes!r}")
    ends = [moment(lane.end) for lane in lanes(KNOWN[link], size)]
    now = min(ends) if at is None else at
    if isinstance(now, bool) or not isinstance(now, int) or not 0 <= now <= max(ends):
        raise ValueError(f"at must be whole nanoseconds from 0 to {max(ends)}, got {at!r}")
    return ClockSpec(link, size, now)


def verdict(spec: ClockSpec) -> str:
    """Which lane ends first, and why, beside the second."""
    first, second = sorted(spec.lanes, key=lambda lane: lane.end)[:2]
    early, longer = second.start - first.start, first.transfer - second.transfer
    by, take = seconds_text(abs(early)), seconds_text(abs(longer))
    begun = f"Its bytes begin {by} {'before' if early >= 0 else 'after'} those of {second.protocol}"
    if early < 0:
        why = f"{begun}, but take {take} less"
    else:
        more = "less than 1 ns" if longer < 1e-9 else f"only {take}"
        why = f"{begun} and take {f'{more} longer' if longer > 0 else f'{take} less'}"
    name = KNOWN[spec.link].name
    return f"{nbytes_text(spec.nbytes)} over {name}: {first.protocol} is first, after {seconds_text(first.end)}. {why}."


def amount(lane: Lane, at: int) -> str:
    """ "nothing yet", "32 KiB", "almost 64 KiB", "all"."""
    got = lane.readable(at)
    if got in (0, lane.nbytes):
        return "all" if got else "nothing yet"
    text = nbytes_text(got)
    return f"almost {text}" if text == nbytes_text(lane.nbytes) else text


def reading(spec: ClockSpec) -> str:
    """What the receiver can read at the time of the clock."""
    got: dict[str, list[str]] = {}
    for lane in spec.lanes:
        got.setdefault(amount(lane, spec.at), []).append(lane.protocol.name)
    parts = ", ".join(f"{text} by {listed(names)}" for text, names in got.items())
    return f"Of {nbytes_text(spec.nbytes)}, GPU B can read at {seconds_text(spec.at * 1e-9)}: {parts}."


def clock_sentence(spec: ClockSpec) -> str:
    """The verdict and the reading."""
    return f"{verdict(spec)} {reading(spec)}"


def told(lane: Lane) -> str:
    """In what pieces it comes, and by what the receiver knows that one is there."""
    n, line = lane.pieces, lane.protocol.line
    many, each = "s" * (n != 1), "each " * (n != 1)
    if line is None:
        return f"{n:,} slice{many} of {nbytes_text(lane.piece)}, {each}told by counter and fence"
    return f"{n:,} line{many} of {line} B, {each}told by flag"


def clock_html(spec: ClockSpec) -> str:
    """The mount element: the spec, and for readers without JavaScript the sentence and the lanes as a table."""
    all_ = spec.lanes
    parts = {
        "Call": [lane.link.call for lane in all_],
        "Latency": [lane.link.alpha for lane in all_],
        "Bytes": [lane.transfer for lane in all_],
        "All there at": [lane.end for lane in all_],
    }
    columns = [column(words, values, "s") for words, values in parts.items()]
    head = ("Protocol", *(words for words, _ in columns), "Data on the wire", "Readable")
    shares = [f"{100 * lane.protocol.efficiency:g} %" for lane in all_]
    names, rest = [lane.protocol.name for lane in all_], map(told, all_)
    rows = zip(names, *(cells for _, cells in columns), shares, rest, strict=True)
    return mount("clock", spec.as_json(), fallback(clock_sentence(spec), head, rows, "One message, three protocols"))


class Clock(SpecWidget):
    """Three protocols on one clock. `ends` is when each has delivered now, in seconds."""

    name = "clock"
    about = "a clock"
    spec_of, said, mounted = map(staticmethod, (clock_spec, clock_sentence, clock_html))
    links = traitlets.List().tag(sync=True)
    protocols = traitlets.List().tag(sync=True)

    @property
    def ends(self) -> dict[str, float]:
        return {lane.protocol.name: lane.end for lane in ClockSpec.read(self.spec).lanes}


def clock(nbytes: int | str = "64 KiB", link: str = "nvlink-4", at: int | None = None) -> Clock:
    """One message under LL, LL128 and Simple: `clock("64 KiB")`, `clock("64 MiB", link="nvlink-3")`; at in nanoseconds."""
    return Clock(clock_spec(nbytes, link, at))
