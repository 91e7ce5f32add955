"""The sketch `product`: X W = Y with matrices cut among four ranks, and the collective that this takes. Chapter: tensor-parallel."""

from __future__ import annotations

from helpers.collectives.product import W_DIMS, X_DIMS, Y_DIMS, Case, case
from helpers.view.sketch.svg import WIDTH, Moment, Sketch, arrow, group, label, mark, rect

NRANKS = 4
SIDE = 58  # pixels of a matrix
TOP, FOOT = 20, 20 + SIDE
PLACES = {"X": 10, "W": 88, "product": 174, "Y": WIDTH - SIDE - 8}
SHIFT = 6  # pixels between partial sums that lie on each other
SUMS = "partial sums"
ARTICLES = {"all_reduce": "an all_reduce", "reduce_scatter": "a reduce_scatter"}


def product(what: str) -> Sketch:
    """what: how X and W are cut, and Y where both cut i: "i i b", with "-" for a matrix that every rank has whole.

    ValueError for what is no cut, as `helpers.collectives.product.case`.
    """
    words = what.split()
    if len(words) not in (2, 3):
        raise ValueError(f'a product is told as "b -" or "i i b", got {what!r}')
    x, w, y = ["" if word == "-" else word for word in [*words, "-"][:3]]
    found = case(x, w, y)
    summed = bool(found.after)
    body = [
        _matrix("X", PLACES["X"], x, X_DIMS),
        _matrix("W", PLACES["W"], w, W_DIMS),
        _sign("·", (PLACES["X"] + SIDE + PLACES["W"]) / 2),
        _sign("=", PLACES["W"] + SIDE + 13),
        _moves(found),
        _sums() if summed else "",
        _matrix("Y", PLACES["Y"] if summed else PLACES["product"], found.y, Y_DIMS),
    ]
    told = sentence(found, x, w)
    room = 46 if summed else 26
    return Sketch(f"X times W, case {found.number}", told, FOOT + room, "".join(body), (Moment(0.0, ""),) * 2, 1)


def sentence(found: Case, x: str, w: str) -> str:
    """What a screen reader says."""
    how = " and ".join(
        f"{name} is cut along {dim} among {NRANKS} ranks" if dim else f"{name} is whole on every rank"
        for name, dim in (("X", x), ("W", w))
    )
    first = f" An all_gather makes {found.gathers} whole first." if found.gathers else ""
    then = (
        f" Each rank gets a partial sum of all of Y, and {ARTICLES[found.after]} adds them up." if found.after else ""
    )
    nothing = " Nothing moves." if not first and not then else ""
    end = f" Y is cut along {found.y}." if found.y else " Y is whole on every rank."
    return f"Case {found.number}: {how}.{first}{then}{nothing}{end}"


def _matrix(name: str, left: float, cut: str, dims: str) -> str:
    """Stripes of the ranks' colours along the dimension that is cut, else one square; its sides have their dimensions' names."""
    rows = dims.index(cut) == 0 if cut else False
    names = label("bim-size bim-middle", left + SIDE / 2, TOP - 6, f"{name}[{dims[0]}, {dims[1]}]")
    if not cut:
        whole = rect("bim-frame", left + 0.5, TOP + 0.5, SIDE - 1, SIDE - 1, 3)
        return names + whole + label("bim-label bim-middle", left + SIDE / 2, TOP + SIDE / 2 + 4, "all have it", 11)
    each = SIDE / NRANKS
    stripes = (
        _stripe(rank, left, TOP + rank * each, SIDE, each - 1)
        if rows
        else _stripe(rank, left + rank * each, TOP, each - 1, SIDE)
        for rank in range(NRANKS)
    )
    return names + "".join(stripes)


def _stripe(rank: int, x: float, y: float, width: float, height: float) -> str:
    number = label("", x + width / 2, y + height / 2, rank, 11)
    return group(f"bim-badge bim-r{rank} {mark(f'rank {rank}')}", rect("bim-rank", x, y, width, height, 2), number)


def _sums() -> str:
    """Four squares that lie on each other, one of each rank and as large as all of Y, and the way to what is added up."""
    first = PLACES["product"] - 4
    squares = (
        _stripe(rank, first + (NRANKS - 1 - rank) * SHIFT, TOP + (NRANKS - 1 - rank) * SHIFT, SIDE - 12, SIDE - 18)
        for rank in reversed(range(NRANKS))
    )
    way = arrow(PLACES["product"] + SIDE + 8, PLACES["Y"] - 2, TOP + SIDE / 2)
    return "".join(squares) + group("bim-sketch-plain", way)


def _sign(said: str, x: float) -> str:
    return label("bim-size bim-middle", x, TOP + SIDE / 2 + 5, said, 16)


def _moves(found: Case) -> str:
    """The collective's name under what it works on, or that nothing moves."""
    if found.gathers:
        at = PLACES[found.gathers] + SIDE / 2
        said = (label("bim-size bim-middle", max(at, 42), FOOT + 18, "all_gather, first"),)
    elif found.after:
        said = (
            label("bim-label bim-middle", PLACES["product"] + SIDE / 2, FOOT + 18, SUMS),
            label("bim-size bim-end", WIDTH - 4, FOOT + 36, f"{found.after}, after"),
        )
    else:
        said = (label("bim-label bim-middle", PLACES["W"] + 10, FOOT + 18, "nothing moves"),)
    return "".join(said)
