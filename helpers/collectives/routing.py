"""Which token goes to which expert, who finds no slot, and the all_to_all that this makes, as plain data. Chapter: expert.

Every expert has `slots` places for the tokens of one rank. First choices are served before second ones, and among these earlier tokens
first, as in helpers.parallel.expert, which computes with the same slots. Without slots nothing is dropped and ranks send unequal parts.
A made-up router stands in for a trained one: its scores are whole numbers hashed from a seed, so the page routes exactly alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil

NOISE = 1000  # scores without a favourite lie in range(NOISE)
FAVOUR = 2  # at skew 100 the favourite is FAVOUR * NOISE ahead of the least liked expert
MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class Routes:
    """chosen[rank][token] are a token's experts, the best liked first. slots: of an expert for a rank's tokens, None: any number.

    Experts lie on ranks in order, equally many on each. ValueError for what does not fit together.
    """

    chosen: tuple[tuple[tuple[int, ...], ...], ...]
    experts: int
    slots: int | None = None

    def __post_init__(self) -> None:
        if not self.chosen or self.experts < 1 or self.experts % len(self.chosen):
            raise ValueError(f"{self.experts} experts do not lie evenly on {len(self.chosen)} ranks")
        if self.slots is not None and self.slots < 1:
            raise ValueError(f"slots are at least 1, or None for no limit, got {self.slots!r}")
        named = {expert for rank in self.chosen for token in rank for expert in token}
        if wrong := sorted(named - set(range(self.experts))):
            raise ValueError(f"experts are 0 to {self.experts - 1}, a token chose {wrong[0]}")

    @property
    def nranks(self) -> int:
        return len(self.chosen)

    @cached_property
    def slot(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """[rank][token][choice]: its place among those of its rank at that expert, -1 where it is dropped."""
        return tuple(map(self._placed, self.chosen))

    def _placed(self, tokens: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        taken, places = [0] * self.experts, [[-1] * len(choices) for choices in tokens]
        for choice in range(max(map(len, tokens), default=0)):
            for token, choices in enumerate(tokens):
                expert = choices[choice]
                if self.slots is None or taken[expert] < self.slots:
                    places[token][choice] = taken[expert]
                    taken[expert] += 1
        return tuple(map(tuple, places))

    @cached_property
    def by_expert(self) -> tuple[tuple[int, ...], ...]:
        """[rank][expert]: how many of the rank's tokens that expert gets."""
        counts = [[0] * self.experts for _ in self.chosen]
        for rank, tokens in enumerate(self.chosen):
            for choices, places in zip(tokens, self.slot[rank], strict=True):
                for expert, place in zip(choices, places, strict=True):
                    counts[rank][expert] += place >= 0
        return tuple(map(tuple, counts))

    @property
    def matrix(self) -> tuple[tuple[int, ...], ...]:
        """[src][dst]: tokens that rank src sends to the experts of rank dst; on the diagonal those that stay."""
        here = self.experts // self.nranks
        return tuple(tuple(sum(row[i : i + here]) for i in range(0, self.experts, here)) for row in self.by_expert)

    @property
    def loads(self) -> tuple[int, ...]:
        """Tokens that each expert computes, of all ranks."""
        return tuple(map(sum, zip(*self.by_expert, strict=True)))

    @property
    def fullest(self) -> Fraction:
        """The tokens of the fullest rank over those of the mean rank: how many times as long all wait as they would with equal loads."""
        each = [sum(column) for column in zip(*self.matrix, strict=True)]
        return Fraction(max(each) * self.nranks, sum(each) or 1)

    @property
    def asked(self) -> int:
        """Choices of all tokens."""
        return sum(len(choices) for tokens in self.chosen for choices in tokens)

    @property
    def dropped(self) -> int:
        """Choices that found no slot."""
        return self.asked - sum(self.loads)

    def rows(self, src: int, dst: int) -> int:
        """Tokens' rows that rank src sends to rank dst: with slots all of these, filled or not."""
        if self.slots is None:
            return self.matrix[src][dst]
        return self.slots * self.experts // self.nranks


def capacity(tokens: int, top_k: int, experts: int, factor: Fraction | float) -> int:
    """Slots of one expert for one rank's tokens: factor times an even share, rounded up, at least one."""
    return max(1, ceil(Fraction(tokens * top_k, experts) * Fraction(factor)))


def mixed(number: int) -> int:
    """32 bits that look random: the finalizer of MurmurHash3 (Appleby, public domain)."""
    number &= MASK
    number = ((number ^ number >> 16) * 0x85EBCA6B) & MASK
    number = ((number ^ number >> 13) * 0xC2B2AE35) & MASK
    return number ^ number >> 16


def score(seed: int, token: int, expert: int, experts: int, skew: int) -> int:
    """How much a made-up router likes an expert for a token; token: its number among all ranks'. skew: 0 to 100."""
    liked = (5 * expert + 3) % experts  # the favourite is not the first expert
    ahead = FAVOUR * NOISE * skew * liked // (100 * max(1, experts - 1))
    return mixed(mixed(mixed(seed) + token) + expert) % NOISE + ahead


def made_up(
    nranks: int, tokens: int, experts: int, top_k: int, skew: int = 0, factor: Fraction | float = 0, seed: int = 0
) -> Routes:
    """Routes of `tokens` tokens a rank to their top_k of `experts`. factor: of the capacity, 0 for no capacity at all.

    Of equally liked experts the one with the smaller number comes first.
    """
    every = range(experts)

    def choices(token: int) -> tuple[int, ...]:
        return tuple(sorted(every, key=lambda e: (-score(seed, token, e, experts, skew), e))[:top_k])

    chosen = (tuple(choices(rank * tokens + i) for i in range(tokens)) for rank in range(nranks))
    return Routes(tuple(chosen), experts, capacity(tokens, top_k, experts, factor) if factor else None)
