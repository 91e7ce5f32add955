"""One all_reduce on the map, step by step: a ring of a node's GPUs through the switch. Schedule and price are the course's own."""

from __future__ import annotations

import json
from html import escape
from itertools import accumulate

from helpers.collectives import CATALOGUE, Schedule, Transfer, price
from helpers.collectives.simulate import holdings
from helpers.facts import LINKS
from helpers.units import MIB, nbytes_text, seconds_text
from website.map.drawing import EDGES, OWN, PITCH, RAILS, SWITCH, rail

NBYTES, NETWORK = 64 * MIB, "nvlink-4"
BEGIN = f"{RAILS} GPUs have a gradient of {nbytes_text(NBYTES)} each; all need the sum. Play an all_reduce by ring."
BUTTONS = (
    ("back", "M13 4v12L5 10z", "Step back"),
    ("play", "M6 3v14l11-7z", "Play"),
    ("forward", "M7 4v12l8-6z", "Step forward"),
)


def bar() -> str:
    """What plays it and tells of every step, with all that the script needs."""
    buttons = "".join(
        f'<button type="button" data-run="{what}" aria-label="{said}">'
        f'<svg viewBox="0 0 20 20" aria-hidden="true"><path d="{path}"/></svg></button>'
        for what, path, said in BUTTONS
    )
    told = escape(json.dumps(run(), ensure_ascii=False, separators=(",", ":")))
    return f'<div class="bim-map-run" data-told="{told}">{buttons}<p role="status">{BEGIN}</p></div>'


def run() -> dict[str, object]:
    """says: a sentence a moment, the first before any step. inside: of every step, by its sender, whose numbers its message has, as
    bits. done: of every moment, how many chunks a GPU has whole. way: places on the drawing."""
    s = CATALOGUE["all_reduce", "ring"](nranks=RAILS)
    moments = [[dict(chunk) for chunk in held] for held in holdings(s)]
    inside = [[moments[n][t.chunk][t.src] for t in by_sender(step)] for n, step in enumerate(s.steps)]
    whole = 2**RAILS - 1
    done = [sum(chunk[0] == whole for chunk in held) for held in moments]
    way = {"from": EDGES["node"][0], "switch": SWITCH, "top": rail(0), "pitch": PITCH, "own": OWN}
    return {"says": sentences(s), "inside": inside, "done": done, "way": way}


def by_sender(step: tuple[Transfer, ...]) -> list[Transfer]:
    """A step's messages by rank. ValueError unless each goes to the next one, as they are drawn."""
    found = sorted(step, key=lambda t: t.src)
    if [(t.src, t.dst) for t in found] != [(r, (r + 1) % RAILS) for r in range(RAILS)]:
        raise ValueError(f"the map draws rings in which every rank sends to the next, got {step}")
    return found


def sentences(s: Schedule) -> list[str]:
    """What is done in every step, and when it is over."""
    costs = price(s, NBYTES, LINKS[NETWORK])
    sent, last = nbytes_text(NBYTES / s.nchunks), len(s.steps)
    ends = list(accumulate((step.seconds for step in costs.steps), initial=costs.call))[1:]
    does = {"reduce": "to the next one, which adds its own", "copy": "of the finished sum to the next one"}
    says = [
        f"Step {n} of {last}, {seconds_text(end)}: every GPU sends {sent} {does[step[0].op]}."
        for n, (step, end) in enumerate(zip(s.steps, ends, strict=True), 1)
    ]
    total = nbytes_text(NBYTES * last / s.nchunks)
    end = f"Step {last} of {last}: every GPU has the sum, in {seconds_text(costs.seconds)} by the model; {total} left each."
    return [BEGIN, *says[:-1], end]
