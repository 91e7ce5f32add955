"""The best ring over some devices: as few hops as possible of the worst kind, then of the next worst. Chapters: interconnects, choosing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

MOST = 10  # devices up to which every ring is looked at


@dataclass(frozen=True)
class BestRing:
    """order: which device after which, back to the first. exact: whether no ring is better; above ten devices only a good one is sought."""

    order: tuple[str, ...]
    exact: bool

    @property
    def hops(self) -> tuple[tuple[str, str], ...]:
        """The pairs that send to each other, in order; none for one device."""
        return tuple(zip(self.order, self.order[1:] + self.order[:1], strict=True)) if len(self.order) > 1 else ()


Rank = Callable[[str, str], int]
_Way = tuple[tuple[int, ...], tuple[int, ...]]  # hops by kind, worst first, and the devices in order


def best_ring(devices: Sequence[str], rank: Rank) -> BestRing:
    """Of equals the one that comes first in the devices' order. rank: the higher, the better two devices are joined."""
    kinds = sorted({rank(a, b) for a in devices for b in devices if a != b})
    if len(devices) < 3 or len(kinds) == 1:
        return BestRing(tuple(devices), True)
    table = [[kinds.index(rank(a, b)) if a != b else 0 for b in devices] for a in devices]
    search = _exact if len(devices) <= MOST else _greedy
    return BestRing(tuple(devices[at] for at in search(table, len(kinds))), len(devices) <= MOST)


def _more(counts: tuple[int, ...], kind: int) -> tuple[int, ...]:
    return (*counts[:kind], counts[kind] + 1, *counts[kind + 1 :])


def _exact(table: Sequence[Sequence[int]], kinds: int) -> tuple[int, ...]:
    """Held and Karp's way: the best path from device 0 through a set of others to one of them, set by set."""
    count = len(table)
    ways: dict[tuple[int, int], _Way] = {}
    for last in range(1, count):
        ways[1 << last, last] = _more((0,) * kinds, table[0][last]), (0, last)
    for seen in range(2, 1 << count, 2):
        for last in range(1, count):
            if (seen, last) in ways:
                _further(ways, seen, last, table)
    everyone = (1 << count) - 2
    ends = (ways[everyone, last] for last in range(1, count))
    return min((_more(counts, table[order[-1]][0]), order) for counts, order in ends)[1]


def _further(ways: dict[tuple[int, int], _Way], seen: int, last: int, table: Sequence[Sequence[int]]) -> None:
    counts, order = ways[seen, last]
    for new in range(1, len(table)):
        if not seen >> new & 1:
            way = _more(counts, table[last][new]), (*order, new)
            key = seen | 1 << new, new
            ways[key] = min(ways.get(key, way), way)


def _greedy(table: Sequence[Sequence[int]], kinds: int) -> tuple[int, ...]:
    """From every device the nearest that is left; the best of these rings, turned to begin with device 0."""
    rings = [_nearest(table, first) for first in range(len(table))]
    turned = [ring[ring.index(0) :] + ring[: ring.index(0)] for ring in rings]
    return min((_counts(table, ring, kinds), ring) for ring in turned)[1]


def _nearest(table: Sequence[Sequence[int]], first: int) -> tuple[int, ...]:
    ring, left = [first], set(range(len(table))) - {first}
    while left:
        ring.append(max(sorted(left), key=lambda new: table[ring[-1]][new]))
        left.remove(ring[-1])
    return tuple(ring)


def _counts(table: Sequence[Sequence[int]], ring: tuple[int, ...], kinds: int) -> tuple[int, ...]:
    counts = (0,) * kinds
    for one, other in zip(ring, ring[1:] + ring[:1], strict=True):
        counts = _more(counts, table[one][other])
    return counts
