"""The sketch `share`: what part of a message's time is alpha, what part its bytes, from 1 KiB to 1 GiB. Chapter: latency-bandwidth."""

from __future__ import annotations

import math

from helpers.facts import LINKS, Link
from helpers.units import nbytes_text, seconds_text
from helpers.view.shared.words import percent
from helpers.view.sketch.svg import WIDTH, Moment, Sketch, element, group, label, line, mark, rect

FIRST, LAST = 10, 30  # powers of two: 1 KiB to 1 GiB
LEFT, RIGHT, TOP, FOOT = 42, WIDTH - 16, 8, 118  # pixels of the axes
ROOM = 136  # pixels of the words at the line
FINE = 4  # points of the curve for each power of two


def share(link: str) -> Sketch:
    """The two parts of one message over a link with Simple, of all its time, as its size grows. ValueError naming the links there are."""
    if link not in LINKS:
        raise ValueError(f"unknown link {link!r}: expected one of {', '.join(LINKS)}")
    one = LINKS[link].by("Simple")
    even = half(one)
    if not 2**FIRST < even < 2**LAST:
        raise ValueError(f"over {one.name} both parts are equal at {nbytes_text(even)}, outside of the picture")
    sizes = [2.0**power for power in range(FIRST, LAST + 1)]
    rest = min(range(len(sizes)), key=lambda i: abs(math.log(sizes[i] / even)))
    moments = tuple(Moment(across(size) - across(even), sentence(one, size)) for size in sizes)
    title = (
        f"The two parts of a message's time over {one.name}, from {nbytes_text(sizes[0])} to {nbytes_text(sizes[-1])}"
    )
    told = " ".join(sentence(one, size) for size in (sizes[0], even, sizes[-1]))
    return Sketch(title, told, FOOT + 24, _body(one, even), moments, rest, "Size")


def half(link: Link) -> float:
    """Bytes whose time is as long as alpha."""
    return link.alpha / link.beta


def alpha_share(link: Link, nbytes: float) -> float:
    """Alpha's part of a message's seconds, 0 to 1."""
    return link.alpha / link.seconds(nbytes)


def sentence(link: Link, nbytes: float) -> str:
    seconds = link.seconds(nbytes)
    return f"A message of {nbytes_text(nbytes)} takes {seconds_text(seconds)}; alpha is {percent(link.alpha, seconds)} of it."


def across(nbytes: float) -> float:
    """Where a size stands, on a scale of doublings."""
    return LEFT + (RIGHT - LEFT) * (math.log2(nbytes) - FIRST) / (LAST - FIRST)


def _body(link: Link, even: float) -> str:
    sizes = [2 ** (FIRST + i / FINE) for i in range(FINE * (LAST - FIRST) + 1)]
    curve = [(across(size), FOOT - (FOOT - TOP) * alpha_share(link, size)) for size in sizes]
    area = lambda kind, name, y: element(  # noqa: E731
        "path", {"class": f"{kind} {mark(name)}", "d": _closed([(LEFT, y), *curve, (RIGHT, y)])}
    )
    middle, low = across(even), (TOP + FOOT) / 2 + 24
    left = middle + ROOM > RIGHT  # of the line; the curve runs from above on the left to below on the right
    said = f"{nbytes_text(even)}: half and half"
    return "".join(
        (
            group("bim-sketch-plain", area("bim-bytes", "beta", TOP), area("bim-alpha", "alpha", FOOT)),
            label("bim-size", LEFT + 10, low, "alpha"),
            label("bim-size bim-end", RIGHT - 10, low, "bytes"),
            *_ticks(),
            line("bim-least", (middle, TOP), (middle, FOOT)),
            label(
                "bim-size bim-end" if left else "bim-size",
                middle - 6 if left else middle + 6,
                FOOT - 8 if left else TOP + 18,
                said,
            ),
            rect("bim-here", middle - 1, TOP, 2, FOOT - TOP),
        )
    )


def _closed(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "Z"


def _ticks() -> list[str]:
    rows = [(FOOT - (FOOT - TOP) * part, f"{100 * part:g} %") for part in (0, 0.5, 1)]
    names = [
        label("bim-label bim-middle", across(2.0**power), FOOT + 18, nbytes_text(2**power), 11)
        for power in (10, 15, 20, 25, 30)
    ]
    return [*(label("bim-label bim-end", LEFT - 6, y + 4, said, 11) for y, said in rows), *names]
