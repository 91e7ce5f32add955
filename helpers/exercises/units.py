"""The exercises of the chapter `units`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from helpers.collectives import PROMISES
from helpers.facts import lookup, public
from helpers.units import GB, MIB, Bandwidth, UnitError, nbytes_text, seconds_text

from .answer import Answer, NotYetError, judge

# Two facts each, by letter; whether they can be compared says Bandwidth itself.
_BESIDE = {
    "a": ("H100.nvlink", "A100.nvlink"),
    "b": ("H100.nvlink.both", "pcie-5.gpu"),
    "c": ("infiniband-ndr.port", "nvlink-4.link"),
    "d": ("infiniband-ndr.gpu", "H100.nvlink"),
    "e": ("nvlink-4.link", "nvlink-4.gpu"),
    "f": ("H100.nvlink.achievable", "A100.nvlink"),
    "g": ("A100.nvlink.both", "H100.nvlink.both"),
    "h": ("A100.nvlink.both", "pcie-4.x16"),
    "i": ("nvswitch-3.chip", "H100.nvlink"),
    "j": ("H100.hbm", "H100.nvlink.both"),
}
_QUANTITIES = {letter: tuple(lookup(key).bandwidth for key in keys) for letter, keys in _BESIDE.items()}
PAIRS = {letter: tuple(map(str, pair)) for letter, pair in _QUANTITIES.items()}


# the two bandwidths ------------------------------------------------------------------------------------------------------
def bus_bandwidth(answer: Callable[[str, int, int, float], float]) -> Answer:
    """answer(collective, nbytes, nranks, seconds): busbw in bytes per second, as nccl-tests counts it."""
    cases = [(name, n, size, t) for n in (2, 4, 7, 64) for name in PROMISES for size, t in ((MIB, 30e-6), (GB, 4e-3))]
    return judge(cases, lambda case: _bus(answer, *case), f"The busbw of all {len(PROMISES)} collectives.")


def _bus(answer: Callable[[str, int, int, float], float], name: str, nranks: int, nbytes: int, seconds: float) -> None:
    where = f"{name} of {nbytes_text(nbytes)} on {nranks} ranks in {seconds_text(seconds)}"
    got, want = _number(answer(name, nbytes, nranks, seconds), where), nbytes / seconds
    want *= PROMISES[name].bus_factor(nranks)
    if not math.isclose(got, want, rel_tol=1e-6):
        raise NotYetError(
            f"{where}: you said {got / GB:.4g} GB/s, it is {want / GB:.4g}."
            " Hint: how many buffers does the busiest rank send or receive, if the ranks do the adding?"
        )


# which can be compared ---------------------------------------------------------------------------------------------------
def comparable(letters: str) -> Answer:
    """letters: those of PAIRS whose two bandwidths can be held against one another as they stand, as "acd"."""
    if not isinstance(letters, str) or not set(letters) <= PAIRS.keys():
        return Answer(False, f"Name letters from a to j, as 'acd', got {letters!r}.")
    for letter, (first, second) in _QUANTITIES.items():
        why = _unlike(first, second)
        if why and letter in letters:
            return Answer(False, f"{letter}: {why}.")
        if not why and letter not in letters:
            return Answer(
                False, f"{letter} can be compared: {first} and {second} count the same way, of the same thing."
            )
    return Answer(True, f"{len(set(letters))} of {len(PAIRS)} can be compared as they stand.")


def _unlike(first: Bandwidth, second: Bandwidth) -> str:
    try:
        first / second
    except UnitError as error:
        return str(error)
    return ""


# one way per GPU ---------------------------------------------------------------------------------------------------------
def one_way_per_gpu(answer: Callable[[Bandwidth, int], Bandwidth]) -> Answer:
    """answer(sold, count): the same one way per GPU; count: how many links a GPU has, or how many GPUs a node."""
    cases = [
        (Bandwidth(900e9, "both ways", "GPU"), 1),
        (Bandwidth(25e9, "one way", "link"), 18),
        (Bandwidth(50e9, "both ways", "link"), 12),
        (Bandwidth(400e9, "one way", "node"), 8),
        (Bandwidth(14.4e12, "both ways", "node"), 8),
    ]
    return judge(cases, lambda case: _converted(answer, *case), "One way per GPU, from links, GPUs and nodes.")


def _converted(answer: Callable[[Bandwidth, int], Bandwidth], sold: Bandwidth, count: int) -> None:
    got = answer(sold, count)
    factor = {"link": count, "GPU": 1, "node": 1 / count}[sold.scope]
    want = sold.one_way.times(factor, "GPU")
    if not isinstance(got, Bandwidth):
        raise NotYetError(f"{sold}, with {count}: expected a Bandwidth, which says which way and of what, got {got!r}.")
    if (got.direction, got.scope) != ("one way", "GPU") or not math.isclose(got.value, want.value, rel_tol=1e-9):
        raise NotYetError(
            f"{sold}, with {count}: you said {got}, it is {want}."
            " Hint: a link is less than a GPU, a node is more; both ways is the sum of two."
        )


# a row of a table --------------------------------------------------------------------------------------------------------
def line_rate_share(answer: Callable[[Mapping[str, float], int, Bandwidth], float]) -> Answer:
    """answer(row, nranks, sold): busbw as a share of the wire's line rate, between 0 and 1, of an all_reduce's row."""
    cases = []
    for name, gpu in (("nccl-tests-4xh100-all_reduce", "H100"), ("nccl-tests-8xa100-all_reduce", "A100")):
        table = public(name)
        wires = [lookup(f"{gpu}.nvlink{way}").bandwidth for way in (".both", "")]
        cases += [(row, table.nranks, wire) for row in table.rows[-3:] for wire in wires]
    return judge(cases, lambda case: _share(answer, *case), f"The share of the line rate in all {len(cases)} cases.")


def _share(
    answer: Callable[[Mapping[str, float], int, Bandwidth], float],
    row: Mapping[str, float],
    nranks: int,
    sold: Bandwidth,
) -> None:
    where = f"{nbytes_text(row['nbytes'])} on {nranks} GPUs in {seconds_text(row['seconds'])}, sold with {sold}"
    got = _number(answer({part: row[part] for part in ("nbytes", "seconds")}, nranks, sold), where)
    want = row["nbytes"] / row["seconds"] * 2 * (nranks - 1) / nranks / sold.one_way.value
    if not math.isclose(got, want, rel_tol=1e-6):
        raise NotYetError(
            f"{where}: you said {got:.1%}, it is {want:.1%}."
            " Hint: a message goes one way, and an all_reduce's busbw is more than its algbw from three GPUs on."
        )


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NotYetError(f"{where}: expected a number, got {value!r}.")
    return value
