"""What the widget `routing` may be asked: ranks, tokens, experts, a made-up router and a capacity. Chapter: expert."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from helpers.collectives.routing import Routes, made_up
from helpers.view.shared.mount import Spec

NRANKS = (2, 4, 8)
TOKENS = (4, 6, 8, 12, 16)
EXPERTS = (4, 8, 16)
TOP_K = (1, 2, 4)
CAPACITIES = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 0.0)  # 0: no limit, parts of unequal sizes
SKEWS = tuple(range(0, 101, 10))
SEEDS = 100
ROW = 8192  # bytes of a token: 4,096 numbers in bf16, Mixtral's


@dataclass(frozen=True)
class RoutingSpec(Spec):
    """The whole state of the widget. tokens: of one rank; capacity: the factor, 0 for none; seed: which batch."""

    nranks: int
    tokens: int
    experts: int
    top_k: int
    skew: int
    capacity: float
    seed: int

    @cached_property
    def routes(self) -> Routes:
        """Who goes where."""
        return made_up(self.nranks, self.tokens, self.experts, self.top_k, self.skew, self.capacity, self.seed)


def routing_spec(
    tokens: int = 8,
    experts: int = 8,
    top_k: int = 2,
    capacity: float = 1.25,
    nranks: int = 4,
    skew: int = 50,
    seed: int = 0,
) -> RoutingSpec:
    """The state that the reader begins with. ValueError naming what is offered."""
    among = {"tokens": (tokens, TOKENS), "experts": (experts, EXPERTS), "top_k": (top_k, TOP_K)}
    among |= {"capacity": (capacity, CAPACITIES), "nranks": (nranks, NRANKS), "skew": (skew, SKEWS)}
    among["seed"] = (seed, range(SEEDS))
    for name, (value, offered) in among.items():
        if (
            not isinstance(value, int | float if name == "capacity" else int)
            or isinstance(value, bool)
            or value not in offered
        ):
            shown = f"0 to {SEEDS - 1}" if name == "seed" else ", ".join(f"{one:g}" for one in offered)
            raise ValueError(f"{name} must be one of {shown}, got {value!r}")
    if nranks > experts:
        raise ValueError(f"each rank has an expert at least: nranks must be at most experts={experts}, got {nranks}")
    return RoutingSpec(nranks, tokens, experts, top_k, skew, float(capacity), seed)
