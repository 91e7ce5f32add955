"""The binomial tree (minimum spanning tree): whoever has the data passes it on, so the number of holders doubles every round.

Source: Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory, practice, and experience", 2007.
Chapters: ring (when a ring is the wrong choice), trees.
"""

from __future__ import annotations

from ..schedule import Schedule, Transfer, _in_range, _whole


def broadcast(nranks: int, root: int = 0) -> Schedule:
    """ceil(log2 P) steps of the whole buffer; the root sends one in each."""
    steps = tuple(tuple(Transfer(a, b, 0) for a, b in pairs) for pairs in _rounds(nranks, root))
    return Schedule("broadcast", "binomial", nranks, 1, steps, root)


def reduce(nranks: int, root: int = 0) -> Schedule:
    """The broadcast read backwards, with every copy turned into an addition: ceil(log2 P) steps of the whole buffer."""
    steps = tuple(tuple(Transfer(b, a, 0, "reduce") for a, b in pairs) for pairs in reversed(_rounds(nranks, root)))
    return Schedule("reduce", "binomial", nranks, 1, steps, root)


def all_reduce(nranks: int) -> Schedule:
    """Reduce to rank 0, then broadcast: 2 ceil(log2 P) steps of the whole buffer."""
    return (reduce(nranks, 0) + broadcast(nranks, 0)).named("all_reduce", "binomial")


def _rounds(nranks: int, root: int) -> list[list[tuple[int, int]]]:
    """The pairs (holder, new holder) of each round; ids relative to the root: in round k, i passes to i + 2**k."""
    _whole("nranks", nranks, 1)
    _in_range("root", root, nranks, "")
    rounds, holders = [], 1
    while holders < nranks:
        new = range(holders, min(2 * holders, nranks))
        rounds.append([((i - holders + root) % nranks, (i + root) % nranks) for i in new])
        holders *= 2
    return rounds
