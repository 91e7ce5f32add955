"""What a sweep sets: algorithm, protocol, channels; what NCCL has at all; and the environment of each. Chapters: benchmarking, choosing.

Read in NCCL's source at v2.24.3-1, v2.27.5-1, v2.28.9-1 and v2.30.7-1: src/graph/tuning.cc (parseList: the form "allreduce:ring";
ncclTopoTuneModel: which pairs have a bandwidth), src/init.cc (NCCL_MIN_CTAS, NCCL_MAX_CTAS) and src/graph/connect.cc (channels are cut
to the most, then copied up to the least).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from helpers.nccl import PROTOCOLS

OWN = "auto"  # NCCL's own choice
NCCL_NAMES = {
    "all_reduce": "AllReduce",
    "all_gather": "AllGather",
    "reduce_scatter": "ReduceScatter",
    "broadcast": "Broadcast",
    "reduce": "Reduce",
}
ALGORITHMS = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
HAS = {  # algorithms of each collective
    "all_reduce": ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree"),
    "all_gather": ("Ring", "CollNetDirect", "NVLS", "PAT"),
    "reduce_scatter": ("Ring", "CollNetDirect", "NVLS", "PAT"),
    "broadcast": ("Ring",),
    "reduce": ("Ring",),
}
EVERY_PROTOCOL = ("Ring", "Tree")  # the others have Simple alone
EACH_FROM = (2, 24)  # the first NCCL whose settings can be of one collective
CTAS = ("NCCL_MIN_CTAS", "NCCL_MAX_CTAS")
# The last two: CTAs' names up to 2.16
VARIED = ("NCCL_ALGO", "NCCL_PROTO", *CTAS, "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS")
MOST_CHANNELS = 64  # MAXCHANNELS, src/include/device.h


class Asked(NamedTuple):
    """One combination; None: NCCL's own choice."""

    algorithm: str | None = None
    protocol: str | None = None
    channels: int | None = None

    def __str__(self) -> str:
        if self == Asked():
            return "NCCL's own choice"
        pair = f"{self.algorithm or OWN}/{self.protocol or OWN}"
        return pair if self.channels is None else f"{pair}, {self.channels} channel{'s' * (self.channels > 1)}"

    def impossible(self, collective: str) -> str:
        """Why no NCCL has this, "" where one may."""
        if self.algorithm is not None and self.algorithm not in HAS[collective]:
            return f"NCCL has no {collective} by {self.algorithm}: {', '.join(HAS[collective])}"
        if (
            self.algorithm is not None
            and self.algorithm not in EVERY_PROTOCOL
            and self.protocol not in (None, "Simple")
        ):
            return f"{self.algorithm} has no {self.protocol}: Simple alone"
        return ""

    def env(self, collective: str, version: tuple[int, ...] | None) -> dict[str, str]:
        """What every rank's environment needs. From 2.24 on only this collective is bound: the others, such as a barrier's, are free.

        Channels are what NCCL's documentation calls CTAs: NCCL_MIN_CTAS and NCCL_MAX_CTAS (since 2.17) name the same number.
        """
        of = f"{NCCL_NAMES[collective]}:" if version is None or version >= EACH_FROM else ""
        found = {"NCCL_ALGO": f"{of}{self.algorithm}"} if self.algorithm else {}
        found |= {"NCCL_PROTO": f"{of}{self.protocol}"} if self.protocol else {}
        return found | (dict.fromkeys(CTAS, str(self.channels)) if self.channels else {})


def combinations(
    algo: str | Iterable[str] = (),
    proto: str | Iterable[str] = (),
    channels: int | Iterable[int] = (),
) -> list[Asked]:
    """Every algorithm with every protocol and every number of channels, in the order given; what is not named is NCCL's own choice.

    "auto" names that choice. Names are NCCL's, in any case. Raises ValueError naming the one that is none.
    """
    algorithms = [_named(name, ALGORITHMS, "an algorithm") for name in _several(algo)] or [None]
    protocols = [_named(name, tuple(PROTOCOLS), "a protocol") for name in _several(proto)] or [None]
    numbers = [_channels(number) for number in _several(channels)] or [None]
    return list(dict.fromkeys(Asked(*one) for one in product(algorithms, protocols, numbers)))


def free(env: Mapping[str, str] = os.environ) -> None:
    """Raises ValueError where this process's environment has a say in what a sweep varies: it would hold for every combination."""
    if held := [f"{name}={env[name]}" for name in VARIED if name in env]:
        raise ValueError(f"a sweep sets {', '.join(VARIED)} by itself; unset here: {', '.join(held)}")


def known(collective: str) -> None:
    """Raises ValueError for a collective that NCCL has no algorithms for."""
    if collective not in HAS:
        raise ValueError(
            f"a sweep takes {', '.join(HAS)}, for which NCCL has algorithms and protocols to choose from, got {collective!r}"
        )


def repeats(warmup: object, iters: object) -> None:
    """Raises ValueError for a number of calls that is none."""
    for name, value, least in (("warmup", warmup, 0), ("iters", 1 if iters is None else iters, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name} is a whole number of at least {least}, got {value!r}")


def _several(given: object) -> Sequence[object]:
    return [given] if isinstance(given, (str, int)) else list(given)  # type: ignore[call-overload]


def _named(name: object, names: tuple[str, ...], what: str) -> str | None:
    if isinstance(name, str) and name.lower() == OWN:
        return None
    found = [one for one in names if isinstance(name, str) and one.lower() == name.lower()]
    if not found:
        raise ValueError(f"{what} of NCCL's is {', '.join(names)} or {OWN}, got {name!r}")
    return found[0]


def _channels(number: object) -> int | None:
    if isinstance(number, str) and number.lower() == OWN:
        return None
    whole = int(number) if isinstance(number, str) and number.isdecimal() else number
    if isinstance(whole, bool) or not isinstance(whole, int) or not 1 <= whole <= MOST_CHANNELS:
        raise ValueError(f"channels are a whole number in 1..{MOST_CHANNELS} or {OWN}, got {number!r}")
    return whole
