"""A sketch as its page has it: the picture first, its words beside or below, and what the script must know. Every chapter with a sketch."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from html import escape

from helpers.view.shared.mount import positive, text, whole
from helpers.view.sketch.busiest import busiest
from helpers.view.sketch.chips import chips
from helpers.view.sketch.follow import follow
from helpers.view.sketch.halves import halves
from helpers.view.sketch.overlap import overlap
from helpers.view.sketch.product import product
from helpers.view.sketch.share import share
from helpers.view.sketch.sm import sm
from helpers.view.sketch.spread import spread
from helpers.view.sketch.svg import WIDTH, Sketch, element
from helpers.view.sketch.tiles import tiles
from helpers.view.sketch.triangle import triangle

KINDS: dict[str, Callable[..., Sketch]] = {
    "follow": follow,
    "busiest": busiest,
    "halves": halves,
    "overlap": overlap,
    "product": product,
    "share": share,
    "spread": spread,
    "triangle": triangle,
    "chips": chips,
    "sm": sm,
    "tiles": tiles,
}
OPTIONS = {
    **dict.fromkeys(("nranks", "gpus", "nchunks", "steps"), positive),
    **dict.fromkeys(("chunk", "rank"), whole),
    **dict.fromkeys(("nbytes", "link", "across"), text),
}
PLAYS = 4500  # ms at most, from first to last: what moves longer must be stoppable
PACE = 700  # ms of a moment at most


def sketch(argument: str, options: Mapping[str, object]) -> Sketch:
    """The sketch of "follow all_reduce ring" and the directive's options. ValueError on what cannot be drawn."""
    kind, _, what = argument.partition(" ")
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    try:
        return KINDS[kind](what.strip(), **options)
    except TypeError:
        raise ValueError(f"{kind} does not take all of: {', '.join(options)}") from None


def opening(drawn: Sketch, name: str) -> str:
    """Up to where the words begin, which the page sets; then CLOSING. name: an id of its own on the page."""
    names = {"title": f"{name}-title", "desc": f"{name}-desc"}
    picture = element(
        "svg",
        {
            "viewBox": f"0 0 {WIDTH} {drawn.height:g}",
            "role": "img",
            "aria-labelledby": names["title"],
            "aria-describedby": names["desc"],
        },
        element("title", {"id": names["title"]}, escape(drawn.title)),
        element("desc", {"id": names["desc"]}, escape(drawn.told)),
        drawn.body,
    )
    knows = {
        "at": [round(one.at, 1) for one in drawn.moments],
        "says": [one.said for one in drawn.moments] if drawn.slider else [],
        "rest": drawn.rest,
        "pace": min(PACE, PLAYS // len(drawn.moments)),
    }
    data = escape(json.dumps(knows, ensure_ascii=False, separators=(",", ":")))
    return f'<figure class="bim-sketch" id="{name}" data-sketch="{data}"><div class="bim-drawn">{picture}</div><figcaption>'


def closing(drawn: Sketch, name: str) -> str:
    """The slider, where there is one, and the sentence of where it stands."""
    if not drawn.slider:
        return "</figcaption></figure>"
    said = drawn.moments[drawn.rest].said
    return (
        f'<div class="bim-sketch-bar"><label for="{name}-at">{drawn.slider}</label>'
        f'<input id="{name}-at" type="range" min="0" max="{len(drawn.moments) - 1}" value="{drawn.rest}" autocomplete="off" '
        f'aria-valuetext="{escape(said)}"><p>{escape(said)}</p></div></figcaption></figure>'
    )


def marks_of(drawn: Sketch) -> set[str]:
    """The marks that words can light in it: "rank-2", "chunk-0", "alpha"."""
    return set(re.findall(r"\bbim-is-([\w-]+)", drawn.body))
