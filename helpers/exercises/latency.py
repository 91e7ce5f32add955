"""The exercises of the chapter `latency-bandwidth`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from helpers.collectives import CATALOGUE, price_loads
from helpers.facts import LINKS, Link, public
from helpers.units import GB, KIB, MIB, nbytes_text, seconds_text

from .answer import Answer, NotYetError, judge

CLOSE = 0.06  # of the measured time: how near a line must come
SECOND = "torch-4xh100-all_reduce"
# One protocol: the formulas are the whole truth
LINES = [LINKS[slug].by("Simple") for slug in ("nvlink-4", "infiniband-ndr")]
ALGORITHMS = ("ring", "binomial", "double-tree", "recursive-doubling", "halving-doubling")


# how many pieces ---------------------------------------------------------------------------------------------------------
def best_pieces(answer: Callable[[int, int, Link], int]) -> Answer:
    """answer(nranks, nbytes, link): the number of pieces with which the pipelined ring broadcast is fastest; link is one protocol's."""
    cases = [(n, size, link) for n in (2, 3, 4, 8, 64) for size in (4, 100 * KIB, 3 * MIB, 700 * MIB) for link in LINES]
    return judge(
        cases, lambda case: _best_pieces(answer, *case), f"The fastest number of pieces in all {len(cases)} cases."
    )


def _best_pieces(answer: Callable[[int, int, Link], int], nranks: int, nbytes: int, link: Link) -> None:
    where = f"For {nbytes_text(nbytes)} to {nranks} ranks over {link.name}"
    pieces = answer(nranks, nbytes, link)
    if isinstance(pieces, bool) or not isinstance(pieces, int) or pieces < 1:
        raise NotYetError(f"{where}: expected a whole number of pieces, 1 or more, got {pieces!r}.")
    mine, best = (_pipelined(nranks, nbytes, link, s) for s in (pieces, _scanned(nranks, nbytes, link)))
    if mine > best * (1 + 1e-9):
        raise NotYetError(
            f"{where}: {pieces} pieces take {seconds_text(mine)}; {_scanned(nranks, nbytes, link)} take {seconds_text(best)}."
            " Hint: the derivative is zero somewhere between two whole numbers, and there is no less than one piece."
        )


def _pipelined(nranks: int, nbytes: int, link: Link, pieces: int) -> float:
    return price_loads(CATALOGUE["broadcast", "ring"].profile(nranks, nchunks=pieces), nbytes, link)


def _scanned(nranks: int, nbytes: int, link: Link) -> int:
    """By doubling and halving, without the formula: the time falls with the pieces, and then rises."""
    low, high = 1, 2
    while _pipelined(nranks, nbytes, link, high) < _pipelined(nranks, nbytes, link, high - 1):
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        falls = _pipelined(nranks, nbytes, link, middle + 1) < _pipelined(nranks, nbytes, link, middle)
        low, high = (middle + 1, high) if falls else (low, middle)
    return low


# a line of your own ------------------------------------------------------------------------------------------------------
def own_line(alpha: float, bandwidth: float) -> Answer:
    """alpha in seconds and bandwidth in bytes per second: within 6 % of every row of the second table of the four H100s."""
    table = public(SECOND)
    rows = list(zip(table.column("nbytes"), table.column("algbw"), strict=True))
    for name, value in (("alpha", alpha), ("bandwidth", bandwidth)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not (math.isfinite(value) and value > 0):
            return Answer(False, f"{name} is a positive number, got {value!r}.")
    off = {nbytes: (alpha + nbytes / bandwidth) / (nbytes / algbw / GB) - 1 for nbytes, algbw in rows}
    at = max(off, key=lambda nbytes: abs(off[nbytes]))
    if abs(off[at]) <= CLOSE:
        return Answer(
            True,
            f"Within {abs(off[at]):.1%} at every size from {nbytes_text(rows[0][0])} to {nbytes_text(rows[-1][0])}.",
        )
    part = "alpha" if at < alpha * bandwidth else "bandwidth"
    side = "too slow" if off[at] > 0 else "too fast"
    return Answer(
        False,
        f"At {nbytes_text(at)} your line is {abs(off[at]):.1%} {side}, more than {CLOSE:.0%}. There it is mostly {part} that decides.",
    )


# what belongs to the call, what to a step ----------------------------------------------------------------------------------
def split_alpha(answer: Callable[[Sequence[int], Sequence[float]], tuple[float, float]]) -> Answer:
    """answer(nranks, seconds): (seconds per call, seconds per step) of short ring all_reduces that were timed on so many ranks."""
    cases = [(6.6e-6, 0.6e-6), (8.4e-6, 3.4e-6), (30e-6, 0.5e-6), (0.0, 14e-6)]
    return judge(
        cases, lambda case: _split(answer, *case), "You told the call from its steps, for four kinds of machine."
    )


def _split(answer: Callable[[Sequence[int], Sequence[float]], tuple[float, float]], call: float, step: float) -> None:
    nranks = [2, 3, 4, 6, 8]
    seconds = [call + 2 * (n - 1) * step for n in nranks]
    got = answer(list(nranks), list(seconds))
    told = f"Ring all_reduces of {nranks} ranks that take {', '.join(map(seconds_text, seconds))}"
    if not (isinstance(got, (tuple, list)) and len(got) == 2 and all(isinstance(x, (int, float)) for x in got)):
        raise NotYetError(f"{told}: expected two numbers, seconds per call and seconds per step, got {got!r}.")
    if any(abs(x - want) > 1e-9 for x, want in zip(got, (call, step), strict=True)):
        texts = [f"{x * 1e6:.2f} µs" for x in (*got, call, step)]
        raise NotYetError(
            f"{told}: you said {texts[0]} per call and {texts[1]} per step, it is {texts[2]} and {texts[3]}."
            " Hint: how many steps does a ring of so many ranks take? What is left when there are none?"
        )


# which one ---------------------------------------------------------------------------------------------------------------
def quickest(answer: Callable[[int, int, Link], str]) -> Answer:
    """answer(nranks, nbytes, link): the cheapest of ALGORITHMS for that all_reduce, by the model; link is one protocol's."""
    cases = [(n, 8**k, link) for n in (2, 6, 8, 100, 512, 3000) for k in range(1, 12) for link in LINES]
    return judge(cases, lambda case: _quickest(answer, *case), f"The cheapest of the five in all {len(cases)} cases.")


def _quickest(answer: Callable[[int, int, Link], str], nranks: int, nbytes: int, link: Link) -> None:
    where = f"An all_reduce of {nbytes_text(nbytes)} on {nranks} ranks over {link.name}"
    name = answer(nranks, nbytes, link)
    if name not in ALGORITHMS:
        raise NotYetError(f"{where}: expected one of {', '.join(ALGORITHMS)}, got {name!r}.")
    cost = {a: price_loads(CATALOGUE["all_reduce", a].profile(nranks), nbytes, link) for a in ALGORITHMS}
    best = min(cost, key=cost.get)
    if cost[name] > cost[best] * (1 + 1e-9):
        raise NotYetError(f"{where}: {name} takes {seconds_text(cost[name])}, {best} takes {seconds_text(cost[best])}.")
