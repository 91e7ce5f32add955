"""The map as one SVG: a river of bytes from the registers to the other racks, as wide everywhere as one GPU's bandwidth there.

Every width is to one scale, shared memory's as the network card's. Chapters are stations on it; each is a link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from textwrap import wrap

from website.chapters import Chapter
from website.map.places import WAYS, Scale, told

At = tuple[str, float, float]  # a scale, units to the right, a rail

WIDE, HIGH = 800, 386
TOP, PITCH, RAILS, OWN = 74, 36, 8, 3  # the first rail, how far apart, how many, and which is the river's
EDGES = {"sm": (8, 164), "gpu": (164, 284), "node": (284, 560), "cluster": (560, 792)}
SHORE, SWITCH, OTHER = 290, 436, 772  # where NVLinks begin, where the switch stands, and another node
PER_TBPS = 8  # units of width for one TB/s
LETTER, LINE = 6.6, 13  # units of width, on average, and of height
LANES = 32
DESK = 8.3  # the rail below all others


def drawing(scales: tuple[Scale, ...], chapters: dict[str, Chapter], link: Callable[[str], str]) -> str:
    """The SVG, its stations in the book's order. chapters: by page. link: a page's address."""
    at = {page: (scale.key, *place) for scale in scales for page, place in scale.places.items()}
    stations = "".join(
        station(one, *at[page], room(at[page], at), link(page)) for page, one in chapters.items() if page in at
    )
    return (
        f'<svg viewBox="0 0 {WIDE} {HIGH}" role="group" aria-label="Map of the course, from a register to the rack">'
        f"{nest()}{river()}{node()}{cluster()}{foot()}{''.join(map(head, scales))}{stations}</svg>"
    )


def room(place: At, places: dict[str, At]) -> int:
    """Letters that have room between a place and what stands next on its rail."""
    scale, x, row = place
    stops = [
        *(end for _, end in EDGES.values()),
        SWITCH,
        OTHER - 12,
        *(other for _, other, there in places.values() if there == row),
    ]
    return WIDE if scale == "desk" else int((min(stop for stop in stops if stop > x) - 4 - x) / LETTER)


def anchor(page: str) -> str:
    """The name of a chapter's place, for links that lead to it."""
    return "at-" + page.rpartition("/")[2]


def rail(row: float) -> float:
    return TOP + PITCH * row


def width(key: str) -> float:
    return WAYS[key].value / 1e12 * PER_TBPS


def station(chapter: Chapter, scale: str, x: float, row: float, letters: int, href: str) -> str:
    """A dot and a name above it; at the desk, beside it."""
    number = f'<tspan class="bim-nth">{chapter.number} </tspan>' if chapter.number else ""
    letters = max(1, letters - 3 * bool(number))
    first, *more = wrap(chapter.name, letters, break_long_words=False)
    x0, y0 = (x + 8, rail(row) + 4) if scale == "desk" else (x - 4, rail(row) - 8 - LINE * len(more))
    name = number + escape(first) + "".join(f' <tspan x="{x0:g}" dy="{LINE}">{escape(line)}</tspan>' for line in more)
    return (
        f'<a href="{escape(href)}" id="{anchor(chapter.page)}" data-page="{chapter.page}">'
        f'<circle cx="{x:g}" cy="{rail(row):g}" r="3.5"/>'
        f'<text x="{x0:g}" y="{y0:g}">{name}</text></a>'
    )


def head(scale: Scale) -> str:
    """A scale's name, and under it what carries its bytes, and how many."""
    x = EDGES[scale.key][0] + (6 if scale.key == "sm" else 10) if scale.key in EDGES else 12
    y = 26 if scale.key in EDGES else rail(DESK) + 4
    way = (
        f'<text class="bim-way" x="{x}" y="41">{escape(scale.way)}, {told(scale.key)}</text>'
        if scale.key in EDGES
        else ""
    )
    return f'<text class="bim-scale" x="{x}" y="{y:g}">{escape(scale.name)}</text>{way}'


def foot() -> str:
    """What the shapes are, under them."""
    words = ((SHORE - 6, "GPUs"), (SWITCH, "NVSwitch"), (EDGES["node"][1], "NICs"), (OTHER - 16, "other nodes"))
    return "".join(f'<text class="bim-foot-of" x="{x}" y="{rail(RAILS - 1) + 21:g}">{word}</text>' for x, word in words)


def nest() -> str:
    """Each scale inside the next, as contour lines."""
    low = rail(RAILS - 1) + 32
    boxes = [
        f'<rect class="bim-box" x="{2 + 2 * depth}" y="{4 + 4 * depth}" width="{EDGES[key][1] - 2 - 2 * depth}" '
        f'height="{low - 4 - 8 * depth:g}" rx="{10 - 2 * depth}"/>'
        for depth, key in enumerate(reversed(EDGES))
    ]
    return "".join(boxes)


def bank(sign: int) -> list[str]:
    """The river's upper (-1) or lower (1) bank from the registers to the switch: a curve's four points, a straight's end, a curve."""
    sea, hbm, nvlink = (sign * width(key) / 2 for key in ("sm", "gpu", "node"))
    middle, own, neck, mouth = rail((RAILS - 1) / 2), rail(OWN), EDGES["sm"][1] + 12, EDGES["gpu"][1]
    places = [
        *(
            (10, middle + sea),
            (neck * 0.62, middle + sea),
            (neck * 0.5, own + hbm),
            (neck, own + hbm),
            (mouth - 32, own + hbm),
        ),
        *((mouth - 12, own + hbm), (mouth - 16, own + nvlink), (mouth + 6, own + nvlink)),
    ]
    return [f"{x:.0f},{y:.1f}" for x, y in places]


def banks() -> str:
    """Both banks: shared memory's band narrows to that of the HBM, and this to one GPU's NVLink."""
    u, d = bank(-1), bank(1)
    there = f"M{u[0]}C{u[1]} {u[2]} {u[3]}L{u[4]}C{u[5]} {u[6]} {u[7]}"
    return f"{there}L{d[7]}C{d[6]} {d[5]} {d[4]}L{d[3]}C{d[2]} {d[1]} {d[0]}Z"


def river() -> str:
    """The band, in it the lanes of one warp, on its banks the memory."""
    lanes = "".join(lane(i) for i in range(1, LANES))
    return f'<path class="bim-river" d="{banks()}"/><path class="bim-lanes" d="{lanes}"/>{hbm()}'


def lane(i: int) -> str:
    """One of a warp's lanes, from the registers to where the band is as narrow as the HBM's."""
    share, across = i / LANES - 0.5, EDGES["sm"][1] + 2
    start, end = rail((RAILS - 1) / 2) + share * width("sm"), rail(OWN) + share * width("gpu")
    return f"M10,{start:.0f}c{across * 0.6:.0f},0 {across * 0.47:.0f},{end - start:.0f} {across},{end - start:.0f}"


def hbm() -> str:
    """Five stacks of memory on the river's banks."""
    own, half, x = rail(OWN), width("gpu") / 2, EDGES["gpu"][0] + 20
    feet = [(x + 24 * i, own - half - 24) for i in range(3)] + [(x + 12 + 24 * i, own + half + 4) for i in range(2)]
    return chips("".join(f"M{left},{top:.0f}v20h16v-20zm0,5h16m-16,5h16m-16,5h16" for left, top in feet))


def chips(path: str) -> str:
    return f'<path class="bim-chip" d="{path}"/>'


def squares(x: float, size: float, rails: Iterable[int]) -> str:
    """Equal squares on these rails, as a path."""
    return "".join(f"M{x - size / 2:g},{rail(row) - size / 2:g}h{size}v{size}h-{size}z" for row in rails)


def rails(key: str, look: str, start: float, end: float) -> str:
    """One line on each rail, as wide as the bandwidth of a scale."""
    path = "".join(f"M{start},{rail(row):g}H{end}" for row in range(RAILS))
    return f'<path class="{look}" stroke-width="{width(key):.2f}" d="{path}"/>'


def node() -> str:
    """The other seven GPUs, an NVLink from each to the switch, and a thread from each through its network card."""
    gpus = squares(EDGES["node"][0], 14, (row for row in range(RAILS) if row != OWN))
    bar = f'<rect class="bim-chip" x="{SWITCH - 5}" y="{TOP - 12}" width="10" height="{PITCH * (RAILS - 1) + 24}" rx="5"/>'
    lines = rails("node", "bim-wire", SHORE, SWITCH) + rails("cluster", "bim-thread", SWITCH, OTHER)
    return lines + chips(gpus + squares(EDGES["node"][1], 8, range(RAILS))) + bar


def cluster() -> str:
    """Other nodes: the rail of a GPU ends at the GPU of its number there."""
    box = f'y="{TOP - 16}" width="24" height="{PITCH * (RAILS - 1) + 32}" rx="4"/>'
    others = "".join(f'<rect class="bim-box" x="{OTHER - 12 + right}" {box}' for right in (6, 0))
    return others + chips(squares(OTHER, 10, range(RAILS)))
