"""Who holds which slice of which matrix, and what that moves: plain data, true on paper. Chapter: tensor-parallel.

Three ways, each with the whole batch on every rank of the group:
- "gathered", the source lecture's form: every matrix cut by its outputs, every layer's outputs gathered before the next. It is the
  simplest, and not what is used (E44).
- "pairs": a matrix cut by its outputs, then one cut by its inputs; what is between them stays divided, also through the GELU and through
  attention, whose heads are cut: it needs no all_gather (E54). One all_reduce ends a pair (Megatron-LM, arXiv 1909.08053).
- "sequence": the same pairs; between pairs each rank has some tokens, so the all_reduce becomes reduce_scatter and all_gather, which
  together move as much, and norms and residuals are divided, too (arXiv 2205.05198).
Embedding and head are on every rank here, and all compute them; Megatron-LM cuts their vocabulary as well.
"""

from __future__ import annotations

from typing import NamedTuple

from helpers.parallel.checks import divides, divides_all, whole
from helpers.parallel.model import MLP, Model, Transformer

WAYS = ("gathered", "pairs", "sequence")
ROWS, COLUMNS = 0, 1  # of a weight [outputs, inputs]: cut by its outputs, by its inputs
Moves = list[tuple[str, int]]  # (operation, elements of N, the larger of one rank's input and output)


class Traffic(NamedTuple):
    """What one layer moves in a step. again: what it moves a second time where its forward is computed again."""

    forward: Moves
    backward: Moves


def check(model: Model, way: str, nranks: int, batch: int = 0) -> None:
    """ValueError, before anything is launched, for a way that there is not and for sizes that nranks do not divide.

    batch: samples of one replica; the MLP's rows are what "sequence" divides there.
    """
    if way not in WAYS:
        raise ValueError(f"a way to cut matrices is one of {', '.join(WAYS)}, got {way!r}")
    whole("tensor ranks", nranks)
    if isinstance(model, Transformer):
        names = ("heads", "kv_heads", "ffn") + ("width",) * (way == "gathered") + ("seq",) * (way == "sequence")
        divides_all(nranks, "tensor ranks", {name: getattr(model, name) for name in names})
    elif isinstance(model, MLP):
        _check_mlp(model, way, nranks, batch)
    else:
        raise ValueError(f"matrices of an MLP or a Transformer are cut here, got {type(model).__name__}")


def _check_mlp(model: MLP, way: str, nranks: int, batch: int) -> None:
    divides(nranks, "tensor ranks", model.width, "width")
    if way != "gathered":
        if model.layers % 2:
            raise ValueError(
                f"{way} takes matrices two by two, and layers is {model.layers}: "
                f"take layers {model.layers - 1 or 2} or {model.layers + 1}, or way 'gathered'"
            )
        if way == "sequence" and batch:
            divides(nranks, "tensor ranks", batch, "batch of a replica")


def cuts(model: Model, way: str) -> dict[str, int | None]:
    """Along which dimension each parameter is cut: ROWS, COLUMNS, or None for a parameter that every rank holds whole."""
    if isinstance(model, MLP):
        return {name: _mlp_cut(int(name.partition(".")[0]), way) for name in model.shapes}
    second = ROWS if way == "gathered" else COLUMNS
    how = {"q": ROWS, "k": ROWS, "v": ROWS, "o": second, "up": ROWS, "down": second}
    return {name: how.get(name.partition(".")[2]) for name in model.shapes}


def _mlp_cut(i: int, way: str) -> int:
    return ROWS if way == "gathered" or i % 2 == 0 else COLUMNS


def shapes(model: Model, way: str, nranks: int) -> dict[str, tuple[int, ...]]:
    """Of one rank's slices."""
    cut, found = cuts(model, way), {}
    for name, shape in model.shapes.items():
        found[name] = tuple(size // nranks if dim == cut[name] else size for dim, size in enumerate(shape))
    return found


def traffic(model: Model, way: str, batch: int) -> list[Traffic]:
    """Of every layer. batch: samples of one replica. Derived from the conjugate pairs, function by function."""
    if isinstance(model, MLP):
        return [_mlp_layer(i, model.layers, way, batch * model.width) for i in range(model.layers)]
    tokens = batch * model.seq
    n, wide = tokens * model.width, tokens * model.ffn
    between = way == "sequence"
    first = Traffic([], [("all_gather", n)] * between)
    last = Traffic([("all_gather", n)] * between, [])
    return [first, *[_block(way, n, wide, model.width)] * model.layers, last]


def _mlp_layer(i: int, layers: int, way: str, n: int) -> Traffic:
    """The batch wants no gradient, so nothing comes back through layer 0; the last layer's output is whole on every rank."""
    last = i == layers - 1
    if way == "gathered":
        return Traffic([("all_gather", n)], [] if last else [("reduce_scatter", n)])
    if i == 0:
        return Traffic([], [])
    if way == "pairs" or last:
        return Traffic([], [("all_reduce", n)]) if i % 2 == 0 else Traffic([("all_reduce", n)], [])
    there, back = ("all_gather", n), ("reduce_scatter", n)
    return Traffic([there], [back]) if i % 2 == 0 else Traffic([back], [there])


def _block(way: str, n: int, wide: int, width: int) -> Traffic:
    """Attention and MLP. Norms under "sequence" see some tokens only, so the gradients of their two weights are summed."""
    if way == "gathered":
        forward = [("all_gather", n), ("all_gather", n), ("all_gather", wide), ("all_gather", n)]
        return Traffic(forward, [("all_reduce", n), ("reduce_scatter", n), ("all_reduce", n), ("reduce_scatter", wide)])
    if way == "pairs":
        return Traffic([("all_reduce", n)] * 2, [("all_reduce", n)] * 2)
    both = [("all_gather", n), ("reduce_scatter", n)] * 2
    return Traffic(both, [*both, *[("all_reduce", width)] * 2])
