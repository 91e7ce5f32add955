"""What the widget `overlap` says: of the step on show, and of the same step otherwise. `words.mjs` says the same, tested equal."""

from __future__ import annotations

from helpers.overlap import Overlap
from helpers.units import nbytes_text, seconds_text
from helpers.view.overlap.asked import OverlapSpec, bucket_text
from helpers.view.overlap.ways import ways
from helpers.view.shared.words import counted, listed

DDP = 25 * 2**20
NOTHING = 1e-12  # seconds that only rounding makes


def exposed_text(o: Overlap) -> str:
    """ "2.24 ms", "nothing"."""
    return "nothing" if o.exposed < NOTHING else seconds_text(o.exposed)


def verdict(spec: OverlapSpec) -> str:
    """How long the link is kept, what of it is hidden, and what the step takes."""
    if spec.mode == "recorded":
        return recorded_verdict(ways()["ways"][spec.way])
    o = spec.shown
    if spec.mode == "buckets":
        who = counted(len(o.calls), "all_reduce")
    else:
        gathers = sum(call.collective == "all_gather" for call in o.calls)
        who = f"{counted(gathers, 'all_gather')} and {counted(len(o.calls) - gathers, 'reduce_scatter')}"
    keeps = "keeps" if len(o.calls) == 1 else "keep"
    hidden = "nothing" if o.hidden < NOTHING else seconds_text(o.hidden)
    return (
        f"{who} {keeps} the link for {seconds_text(o.communication)}. Of that {hidden} is hidden and {exposed_text(o)} exposed. "
        f"The step takes {seconds_text(o.seconds)}, of which {seconds_text(o.computed)} is computation."
    )


def recorded_verdict(way: dict) -> str:
    """What a recorded step took, beside the model."""
    seen, told = way["measured"], way["predicted"]
    return (
        f"{way['name'].capitalize()}: a rank keeps the link for {seconds_text(seen['communication'])}, and "
        f"{seconds_text(seen['exposed'])} are exposed. The model says {seconds_text(told['communication'])} and "
        f"{seconds_text(told['exposed'])}. The step took {seconds_text(seen['seconds'])}."
    )


def best(spec: OverlapSpec) -> OverlapSpec:
    """Of all that is offered, what exposes least, to a picosecond; of equals the largest buckets, or the fewest units ahead."""
    others = spec.others if spec.mode == "units" else spec.others[::-1]
    return min(others, key=lambda one: round(one.shown.seconds, 12))


def compared(spec: OverlapSpec) -> str:
    """The best that is offered, and what stands beside it."""
    if spec.mode == "recorded":
        return f"{ways()['label']}; recorded {ways()['date']}."
    if spec.mode == "units":
        shown = [one.shown for one in spec.others]
        ahead = listed([f"{one.prefetch}" for one in spec.others])
        each = listed([exposed_text(o) for o in shown])
        return f"Prefetch {ahead}: exposed {each}, gathered at most {listed([nbytes_text(o.gathered) for o in shown])}."
    found = {one.bucket: exposed_text(one.shown) for one in spec.others}
    least = best(spec).bucket
    first = f"{_capital(bucket_text(least))}{', as in DDP,' if least == DDP else ''} exposes least of what is offered: {found[least]}."
    beside = {DDP: "25 MiB, as in DDP,", 0: "one bucket of everything"}
    rest = " and ".join(f"{words} {found[size]}" for size, words in beside.items() if size != least)
    return f"{first} Beside it: {rest}."


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


def overlap_sentence(spec: OverlapSpec) -> str:
    """The verdict, and how it compares."""
    return f"{verdict(spec)} {compared(spec)}"
