"""The dumps of torch's flight recorder from all ranks: who is where, who is missing, who does something else. Chapter: hangs.

`helpers.ranks.hangs.flight` makes the report of `helpers.ranks.hangs` of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from helpers.nccl.output.flights.flight_checks import MOST_RANKS, FlightRecorderError, shown
from helpers.nccl.output.flights.flight_entries import Dump, Operation, read_dump

SAME_SIZE = (
    *("all_reduce", "allreduce", "broadcast", "reduce", "all_reduce_barrier", "_broadcast_oop", "_reduce_oop"),
    *("_all_gather_base", "_reduce_scatter_base", "all_gather_single", "reduce_scatter_single"),
)
NCCL_NAMES = {"_all_gather_base": "all_gather_into_tensor", "_reduce_scatter_base": "reduce_scatter_tensor"}


class Unmet(NamedTuple):
    """A collective that some ranks are in. unknown: ranks without a dump, or whose dump does not reach back so far."""

    group: str
    number: int
    op: str
    entered: tuple[int, ...]
    missing: tuple[int, ...]
    unknown: tuple[int, ...]


class Disagreement(NamedTuple):
    """One number of one group, and what the ranks do under it: {("all_reduce", "Float[4]"): (0, 1), ...}."""

    group: str
    number: int
    calls: Mapping[tuple[str, str], tuple[int, ...]]


@dataclass(frozen=True)
class FlightRecord:
    """All dumps. groups: the ranks of each group, by name, as far as the dumps tell."""

    dumps: Mapping[int, Dump]
    groups: Mapping[str, tuple[int, ...]]

    @property
    def absent(self) -> tuple[int, ...]:
        """Ranks of some group of which there is no dump."""
        return tuple(sorted({rank for ranks in self.groups.values() for rank in ranks} - self.dumps.keys()))

    def operations(self, rank: int) -> tuple[Operation, ...]:
        """Oldest first. KeyError where there is no dump of that rank."""
        return self.dumps[rank].operations

    def completed(self, rank: int) -> Operation | None:
        """The last operation of this rank that is over."""
        return next((one for one in reversed(self.operations(rank)) if not one.pending), None)

    def pending(self, rank: int) -> tuple[Operation, ...]:
        """What this rank has handed over and what is not over, oldest first."""
        return tuple(one for one in self.operations(rank) if one.pending)

    def unmet(self) -> tuple[Unmet, ...]:
        """The collectives that are pending somewhere and that not all ranks of their group have entered for certain."""
        waiting = {(one.group, one.number): one for rank in self.dumps for one in self.pending(rank) if not one.p2p}
        found = (self._unmet(one) for _, one in sorted(waiting.items()))
        return tuple(unmet for unmet in found if unmet.missing or unmet.unknown)

    def _unmet(self, one: Operation) -> Unmet:
        came = {rank: self.entered(rank, one.group, one.number) for rank in self.members(one.group)}
        sides = (tuple(rank for rank, has in came.items() if has is which) for which in (True, False, None))
        return Unmet(one.group, one.number, one.op, *sides)

    def members(self, group: str) -> tuple[int, ...]:
        """The group's ranks; where no dump tells them, the ranks that have been in it."""
        been = (rank for rank, dump in self.dumps.items() if any(one.group == group for one in dump.operations))
        return self.groups.get(group) or tuple(sorted(been))

    def entered(self, rank: int, group: str, number: int) -> bool | None:
        """Has this rank handed over that collective? None where it is not certain."""
        dump = self.dumps.get(rank)
        if dump is None:
            return None
        told = [one.number for one in dump.operations if one.group == group and not one.p2p]
        if told:  # the recorder keeps the newest, and numbers rise within a group
            return max(told) >= number
        return False if dump.whole else None

    def disagreements(self) -> tuple[Disagreement, ...]:
        """Collectives of one number that are not the same on all ranks: another operation, size or type."""
        calls: dict[tuple[str, int], dict[tuple[str, str], list[int]]] = defaultdict(lambda: defaultdict(list))
        for rank in sorted(self.dumps):
            for one in self.operations(rank):
                if not one.p2p and one.op != "coalesced":
                    calls[one.group, one.number][one.op, agreed(one)].append(rank)
        differing = ((key, same) for key, same in sorted(calls.items()) if _differ(same))
        return tuple(
            Disagreement(*key, {call: tuple(ranks) for call, ranks in same.items()}) for key, same in differing
        )

    def __str__(self) -> str:
        lines = [f"rank {rank}: {self._doing(rank)}" for rank in sorted(self.dumps)]
        lines += [f"rank {rank}: no dump" for rank in self.absent]
        lines += [
            f"{d.op} #{d.number} of group {d.group!r}: without ranks {list(d.missing)}"
            for d in self.unmet()
            if d.missing
        ]
        lines += [
            f"#{d.number} of group {d.group!r} is not the same everywhere: {dict(d.calls)}"
            for d in self.disagreements()
        ]
        return "\n".join(lines)

    def _doing(self, rank: int) -> str:
        pending, done = self.pending(rank), self.completed(rank)
        if pending:
            return f"in {pending[0]}{f', and {len(pending) - 1} more behind it' * (len(pending) > 1)}"
        return f"in no operation, after {done.op} #{done.number}" if done else "in no operation"


def agreed(one: Operation) -> str:
    """What must be equal on all ranks, "" where sizes may differ or nobody can tell: "Float[4]", "Float[8] in 2 tensors"."""
    if one.op not in SAME_SIZE or not one.sizes:
        return ""
    elements, tensors = 0, len(one.sizes)
    for size in one.sizes:
        length = 1
        for extent in size:
            length *= extent
        elements += length
    return f"{'+'.join(dict.fromkeys(one.dtypes))}[{elements}]{f' in {tensors} tensors' * (tensors > 1)}"


def parse_flight_recorder(dumps: Mapping[int, Any] | Sequence[Any]) -> FlightRecord:
    """The dumps of all ranks, by rank or in their order: each a pickle's bytes, JSON as text or bytes, or the dict itself.

    Pickles are read as data: one that names a class or a function is refused, so is what is too long or too deep. FlightRecorderError
    names the rank and the entry of what does not hold together. A rank whose dump is missing is told by `absent`.
    """
    if isinstance(dumps, (bytes, bytearray, str)) or not isinstance(dumps, (Mapping, Sequence)):
        raise FlightRecorderError(f"expected {{rank: dump}} or a list of dumps, got {type(dumps).__name__}")
    by_rank = dict(dumps) if isinstance(dumps, Mapping) else dict(enumerate(dumps))
    if not by_rank or not all(isinstance(rank, int) and 0 <= rank < MOST_RANKS for rank in by_rank):
        raise FlightRecorderError(f"expected dumps by rank, got {', '.join(map(shown, list(by_rank)[:8])) or 'none'}")
    read = {rank: read_dump(source, rank) for rank, source in sorted(by_rank.items())}
    return FlightRecord(read, _groups(read))


def _groups(dumps: Mapping[int, Dump]) -> dict[str, tuple[int, ...]]:
    """Gloo writes the ranks of its newest group under no name (torch 2.14; before, of its only one). The widest of them are taken for
    the group of all ranks where they can be that, and where no other group is in use.
    """
    found: dict[str, tuple[int, ...]] = {}
    for rank, dump in dumps.items():
        for name, ranks in dump.groups.items():
            if found.setdefault(name, ranks) != ranks and name:
                raise FlightRecorderError(f"rank {rank}: group {name!r} has ranks {ranks}, elsewhere {found[name]}")
    unnamed = {dump.groups[""] for dump in dumps.values() if "" in dump.groups}
    found.pop("", None)
    used = {one.group for dump in dumps.values() for one in dump.operations}
    worlds = {dump.world for dump in dumps.values()} - {""}
    if unnamed and len(used) == 1 and used == worlds:
        ranks = max(unnamed, key=len)
        if ranks == tuple(range(len(ranks))) and {*dumps}.union(*unnamed) <= {*ranks}:
            found.setdefault(used.pop(), ranks)
    return found


def _differ(calls: Iterable[tuple[str, str]]) -> bool:
    return len({op for op, _ in calls}) > 1 or len({what for _, what in calls} - {""}) > 1
