"""The exercises of the chapter `memory-hierarchy`."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping

from helpers.facts import ACCELERATORS, LINKS
from helpers.units import Bandwidth, nbytes_text, seconds_text

from .answer import Answer, NotYetError, judge

EXACT = 1e-9


def _number(where: str, value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise NotYetError(f"{where}: expected {what}, got {value!r}.")
    return value


# banks -------------------------------------------------------------------------------------------------------------------
def banks(answer: Callable[[int, float, int], tuple[float, float]]) -> Answer:
    """answer(banks, clock, sms): bytes per second of one SM's shared memory and of all; a bank serves 4 bytes a clock (Hz)."""
    chips = [ACCELERATORS[name] for name in ("T4", "A100", "H100", "B200")]
    cases = [(int(c.banks.quantity), c.clock.quantity, int(c.sms.quantity)) for c in chips]
    return judge(cases, lambda case: _banks(answer, *case), f"One SM and the whole chip, for {len(cases)} chips.")


def _banks(answer: Callable, count: int, clock: float, sms: int) -> None:
    where = f"For {count} banks at {clock / 1e9:.4g} GHz and {sms} SMs"
    got, want = answer(count, clock, sms), (count * 4 * clock, count * 4 * clock * sms)
    if not (isinstance(got, (tuple, list)) and len(got) == 2):
        raise NotYetError(f"{where}: expected two rates, of one SM and of the chip, got {got!r}.")
    for name, mine, right in zip(("one SM", "the chip"), got, want, strict=True):
        if abs(_number(where, mine, "bytes per second") / right - 1) > EXACT:
            raise NotYetError(
                f"{where}: {name} moves {right / 1e9:.4g} GB/s, you said {mine / 1e9:.4g}. Hint: {count * 4} bytes a clock."
            )


# what a cache keeps --------------------------------------------------------------------------------------------------------
def from_memory(answer: Callable[[int, int, int], int]) -> Answer:
    """answer(weights, cache, tokens): lines that come from memory when `tokens` tokens each read all weights, in order.

    weights and cache count lines; the cache starts empty, and what it throws out first is what was used longest ago.
    """
    cases = [(10, 40, 1), (10, 40, 5), (40, 40, 3), (41, 40, 3), (100, 40, 4), (7, 1, 6)]
    return judge(cases, lambda case: _from_memory(answer, *case), f"Every line accounted for in {len(cases)} cases.")


def _from_memory(answer: Callable, weights: int, cache: int, tokens: int) -> None:
    where = f"For {weights} lines of weights, a cache of {cache} and {tokens} token{'s' if tokens > 1 else ''}"
    got, want = _number(where, answer(weights, cache, tokens), "a number of lines"), misses(weights, cache, tokens)
    if got != want:
        hint = "what is read next is what was thrown out last" if weights > cache else "what fits is fetched once"
        raise NotYetError(f"{where}: {want} lines come from memory, you said {got:g}. Hint: {hint}.")


def misses(weights: int, cache: int, tokens: int) -> int:
    """The same by playing it: a cache that throws out what was used longest ago."""
    held: OrderedDict[int, None] = OrderedDict()
    count = 0
    for _ in range(tokens):
        for line in range(weights):
            count += line not in held
            held[line] = None
            held.move_to_end(line)
            if len(held) > cache:
                held.popitem(last=False)
    return count


# how large a tile ------------------------------------------------------------------------------------------------------------
def tile(answer: Callable[[float, float, int], int]) -> Answer:
    """answer(flops, bandwidth, nbytes): the smallest side of a square tile of a result with which a product is bound by its FLOPs.

    The tile reads its rows of A and its columns of B from a rung of that bandwidth (bytes per second), nbytes an element.
    """
    cases = [
        (flops, rate, nbytes)
        for flops in (312e12, 989.4e12, 60e9)
        for rate in (2.039e12, 7.2192e12, 43e9)
        for nbytes in (1, 2, 4)
    ]
    return judge(cases, lambda case: _tile(answer, *case), f"The smallest tile in all {len(cases)} cases.")


def _tile(answer: Callable, flops: float, rate: float, nbytes: int) -> None:
    where = f"For {flops / 1e12:.4g} TFLOP/s, {rate / 1e9:.5g} GB/s and {nbytes} byte{'s' * (nbytes != 1)} an element"
    side = answer(flops, rate, nbytes)
    if isinstance(side, bool) or not isinstance(side, int) or side < 1:
        raise NotYetError(f"{where}: expected a whole number of rows, 1 or more, got {side!r}.")
    want = next(
        t for t in range(max(1, int(flops * nbytes / rate) - 2), 2**60) if _seconds_apart(t, flops, rate, nbytes) >= 0
    )
    if side != want:
        moved, done = 2 * side * nbytes / rate, 2 * side * side / flops
        raise NotYetError(
            f"{where}: it is {want}, you said {side}. With {side}, each step along k reads {2 * side * nbytes} B in"
            f" {moved * 1e9:.4g} ns and computes for {done * 1e9:.4g} ns."
        )


def _seconds_apart(side: int, flops: float, rate: float, nbytes: int) -> float:
    """One step along k: seconds of the arithmetic less seconds of the reads."""
    return 2 * side * side / flops - 2 * side * nbytes / rate


# fetch or recompute -----------------------------------------------------------------------------------------------------------
def nearest(answer: Callable[[int, float, float, Mapping[str, Bandwidth]], str]) -> Answer:
    """answer(nbytes, flops, peak, links): the name of the link that brings the tensor soonest, or "recompute" if that is sooner.

    flops: to make the tensor again; peak: FLOP/s; links: by name, Bandwidths that may count one way or both ways.
    """
    peak = ACCELERATORS["H100"].peak("bf16").quantity
    names = [name for name in LINKS if name != "nvlink-5"]  # the peak is an H100's
    one, both = ({name: _counted(LINKS[name].bandwidth, way) for name in names} for way in ("one way", "both ways"))
    mixed = {"nvlink-4": one["nvlink-4"], "pcie-5": both["pcie-5"], "infiniband-ndr": one["infiniband-ndr"]}
    twice = {"pcie-5": both["pcie-5"], "infiniband-ndr": _more(one["infiniband-ndr"])}
    cases = [
        (1 << 25, per_byte * (1 << 25), peak, links)
        for per_byte in (1, 2500, 4096, 18000, 1e6)
        for links in (mixed, twice, both)
    ]
    return judge(cases, lambda case: _nearest(answer, *case), f"The soonest way in all {len(cases)} cases.")


def _counted(rate: Bandwidth, way: str) -> Bandwidth:
    return rate.one_way if way == "one way" else rate.both_ways


def _more(rate: Bandwidth) -> Bandwidth:
    """A fifth more than a PCIe 5 slot carries one way: faster than the slot, slower than the slot's both ways."""
    return Bandwidth(LINKS["pcie-5"].bandwidth.one_way.value * 1.2, "one way", rate.scope, rate.kind)


def _nearest(answer: Callable, nbytes: int, flops: float, peak: float, links: Mapping[str, Bandwidth]) -> None:
    where = f"For {nbytes_text(nbytes)} that take {flops / nbytes:g} FLOP a byte to make again"
    seconds = {name: link.one_way.seconds(nbytes) for name, link in links.items()} | {"recompute": flops / peak}
    name = answer(nbytes, flops, peak, dict(links))
    if name not in seconds:
        raise NotYetError(f"{where}: expected one of {', '.join(seconds)}, got {name!r}.")
    best = min(seconds, key=seconds.get)
    if seconds[name] > seconds[best] * (1 + EXACT):
        fooled = name in links and nbytes / links[name].value <= seconds[best]
        hint = " Hint: a tensor travels one way, whatever a link's number counts." if fooled else ""
        raise NotYetError(
            f"{where}: {name} takes {seconds_text(seconds[name])}, {best} {seconds_text(seconds[best])}.{hint}"
        )
