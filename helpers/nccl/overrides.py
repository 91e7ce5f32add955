"""NCCL_ALGO and NCCL_PROTO as NCCL reads them since 2.24: by collective, and what is left to choose from.

Source: parseList and ncclTopoTuneModel in src/graph/tuning.cc, NCCL 2.30.7, the same code from 2.24.3 on. LL128 begins as "automatic":
taken where the links keep a line's order. A variable that allows it, by its name or by excluding others (`^LL`), forces it: the
question about the links is then skipped. Before 2.24 there were no collectives in the list, and a ring stood in where nothing was
left. Chapter: choosing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from helpers.nccl.predict import Choice
from helpers.nccl.releases import parts

FUNCTIONS = {
    "broadcast": "Broadcast",
    "reduce": "Reduce",
    "all_gather": "AllGather",
    "reduce_scatter": "ReduceScatter",
    "all_reduce": "AllReduce",
}
ALGORITHMS = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
PROTOCOLS = ("LL", "LL128", "Simple")
OFF, ON, AUTOMATIC = 0, 1, 2
SINCE = (2, 24)


class OverrideError(ValueError):
    """What NCCL does not take, in its own words: it ends the program with ncclInvalidUsage."""


@dataclass(frozen=True)
class Overrides:
    """What the two variables leave, by collective and name: 0 off, 1 on, 2 where NCCL decides by the links (LL128 alone).

    algo, proto: as they were set, "" where they were not.
    """

    algo: str
    proto: str
    algorithms: Mapping[str, Mapping[str, int]]
    protocols: Mapping[str, Mapping[str, int]]

    def allows(self, collective: str, algorithm: str, protocol: str) -> bool:
        """Whether this pair may still be chosen on links that LL128 is made for."""
        return bool(self.algorithms[collective][algorithm] and self.protocols[collective][protocol])

    def forced(self) -> tuple[str, ...]:
        """The collectives for which LL128 is taken without a look at the links."""
        return tuple(name for name, all_ in self.protocols.items() if all_["LL128"] == ON)

    def __str__(self) -> str:
        """The table that NCCL writes with NCCL_DEBUG=INFO when a variable is set."""
        head = f"{'Function':>13} | {'  '.join(f'{p:>6}' for p in PROTOCOLS)} | {'  '.join(f'{a:>13}' for a in ALGORITHMS)}"
        rows = [
            f"{told:>13} | {'  '.join(f'{self.protocols[name][p]:>6}' for p in PROTOCOLS)}"
            f" | {'  '.join(f'{self.algorithms[name][a]:>13}' for a in ALGORITHMS)}"
            for name, told in FUNCTIONS.items()
        ]
        return "\n".join([head, *rows])


def overrides(algo: str = "", proto: str = "") -> Overrides:
    """What NCCL makes of NCCL_ALGO=`algo` and NCCL_PROTO=`proto`. OverrideError, in its words, for what it does not take."""
    free = dict.fromkeys(ALGORITHMS, ON)
    automatic = {name: AUTOMATIC if name == "LL128" else ON for name in PROTOCOLS}
    return Overrides(algo, proto, _read(algo, free), _read(proto, automatic))


def overridden(choice: Choice, by: Overrides) -> Choice:
    """The choice that is left of those that `predict` has found.

    OverrideError where nothing is left, as NCCL has it; ValueError for a version before 2.24, whose list is another one.
    """
    if parts(choice.version) < SINCE:
        raise ValueError(f"lists by collective are read since NCCL 2.24, got {choice.version}")
    left = tuple(c for c in choice.candidates if by.allows(choice.collective, c.algorithm, c.protocol))
    if not left:
        raise OverrideError(_nothing(choice.collective, by))
    best = left[0]
    seconds = best.raw if best.corrected is None else best.corrected
    chosen = replace(choice, algorithm=best.algorithm, protocol=best.protocol, channels=best.channels)
    return replace(chosen, seconds=seconds, raw=best.raw, candidates=left)


def _nothing(collective: str, by: Overrides) -> str:
    named = (("NCCL_ALGO", by.algo), ("NCCL_PROTO", by.proto))
    was = "".join(f" {name} was set to {value}." for name, value in named if value)
    return f"No algorithm/protocol available for function {FUNCTIONS[collective]}.{was}"


def _read(text: str, begin: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """A list like "ring;allreduce:^tree,nvls", entry by entry; the later one counts."""
    found = {name: dict(begin) for name in FUNCTIONS}
    for place, entry in _pieces(text, ";"):
        prefix, names = _entry(entry, place, text)
        among = [name for name, told in FUNCTIONS.items() if prefix is None or told.lower() == prefix.lower()]
        if not among:
            raise OverrideError(f'Unrecognized prefix token "{prefix}" when parsing "{text}"')
        for name in among:
            found[name] = _switched(names, tuple(begin), text)
    return found


def _entry(entry: str, place: int, text: str) -> tuple[str | None, str]:
    parted = [part for _, part in _pieces(entry, ":")]
    if len(parted) > 1:
        return parted[0], parted[1]
    if place:
        raise OverrideError(f'All entries except the first must have a prefix: "{text}"')
    return None, parted[0] if parted else entry


def _switched(names: str, known: tuple[str, ...], text: str) -> dict[str, int]:
    """A list, or with a caret in front everything but a list. What it allows is on, LL128 too: nothing is automatic any more."""
    without = names.startswith("^")
    found = dict.fromkeys(known, ON if without else OFF)
    spelled = {name.lower(): name for name in known}
    for _, name in _pieces(names[without:], ","):
        if name.lower() not in spelled:
            raise OverrideError(f'Unrecognized element token "{name}" when parsing "{text}"')
        found[spelled[name.lower()]] = OFF if without else ON
    return found


def _pieces(text: str, mark: str) -> list[tuple[int, str]]:
    """As strtok cuts: nothing between two marks is no piece. (where it begins, piece)"""
    found, begin = [], 0
    for piece in text.split(mark):
        if piece:
            found.append((begin, piece))
        begin += len(piece) + 1
    return found
