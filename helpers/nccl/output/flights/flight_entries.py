"""One dump of torch's flight recorder as operations: every field looked at, and none believed that contradicts another. Chapter: hangs.

Fields as torch 2.5 to 2.15 write them (versions 2.4 to 2.10 of the dump), read in torch/csrc/distributed/c10d/FlightRecorder.hpp,
FlightRecorderDetail.hpp and hooks/FlightRecorderHook.cpp: as a pickle from _dump_nccl_trace and TORCH_FR_DUMP_TEMP_FILE, as JSON from
its HTTP server. Before 2.0 (torch 2.3) one running number, seq_id, counted a group's calls, and a group had a number, not a name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from helpers.nccl.output.flights.flight_checks import (
    FlightRecorderError,
    a_dict,
    a_list,
    a_name,
    a_size,
    a_whole,
    not_too_much,
    shown,
    some_ranks,
    some_texts,
)
from helpers.nccl.output.flights.flight_sources import data_of

STATES = ("scheduled", "started", "completed")
ISSUED = "issued"
WITH_EVENTS = ("nccl", "ncclx", "xccl", "rccl", "rcclx", "mccl", "hccl")  # of these "retired" may mean that time was up
WITH_ENDS = ("gloo", "nccl2", "nccl-lazy")  # of others 2.15's hook retires what was merely handed over
WORLD = "default_pg"  # how torch describes the group of all ranks
_NAME = re.compile(r"([\w-]+):(\w+)(?: (\d{1,7}|\?)(->|<-)(\d{1,7}|\?))?", re.ASCII)
_VERSION = re.compile(r"[12]\.\d{1,3}", re.ASCII)


class Operation(NamedTuple):
    """One entry. number: which of its group's collectives, or which send or receive; 1 is the first where nothing was lost.

    state: "scheduled" (handed over), "started" (on the GPU; known only where torch times its operations), "completed", or "issued": the
    newest of its group on a backend that never tells when a call is over.
    peer: of a send or a receive, the other end's rank in the group. where: the reader's own line, if stacks were kept.
    """

    record: int
    group: str
    number: int
    backend: str
    op: str
    p2p: bool
    sends: bool
    peer: int | None
    sizes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    state: str
    where: str = ""

    @property
    def pending(self) -> bool:
        return self.state != "completed"

    def __str__(self) -> str:
        tensors = ", ".join(f"{kind}{list(size)}" for kind, size in zip(self.dtypes, self.sizes, strict=True))
        end = "" if self.peer is None else f" {'to' if self.sends else 'from'} {self.peer}"
        return f"{self.op} #{self.number}{end}{f' of {tensors}' * bool(tensors)} in group {self.group!r}: {self.state}"


class Dump(NamedTuple):
    """One rank's dump. groups: ranks of each group of this rank, by name; whole: nothing older was overwritten, and nothing left out.

    world: the group of all ranks, "" where no operation was in it. The dump's pg_status is not read: Gloo counts messages among the
    "collectives" there.
    """

    version: str
    operations: tuple[Operation, ...]
    groups: Mapping[str, tuple[int, ...]]
    whole: bool
    world: str = ""


def read_dump(source: object, rank: int) -> Dump:
    """A pickle's bytes, JSON as text or bytes, or what either holds."""
    try:
        return _dump(data_of(source))
    except FlightRecorderError as error:
        raise FlightRecorderError(f"rank {rank}: {error}") from None


def _groups_of(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Gloo has one nameless entry for all its groups. A second one empties it (torch 2.13), or writes its own ranks there (2.14)."""
    named = {a_name(name): about for name, about in config.items()}
    known = {name: about for name, about in named.items() if not (name == "" and _is_emptied(about))}
    return {name: some_ranks(name, about) for name, about in known.items()}


def _is_emptied(about: object) -> bool:
    return isinstance(about, dict) and about.get("ranks") == "[]"


def _dump(data: Mapping[str, Any]) -> Dump:
    version, entries = data["version"], a_list(data.get("entries", ()), "entries")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise FlightRecorderError(
            f"version {shown(version)} of the dump, expected 1.0 to 2.10 or a later 2 (torch 2.3 to 2.15)"
        )
    config = a_dict(data.get("pg_config", {}), "pg_config")
    not_too_much(config, entries)
    groups = _groups_of(config)
    operations = [_operation(a_dict(entry, f"entry {place}"), place) for place, entry in enumerate(entries)]
    records = [operation.record for operation in operations]
    if any(later <= earlier for earlier, later in itertools.pairwise(records)):
        raise FlightRecorderError(f"record_id does not rise: {records[:8]}")
    _in_order(operations)
    newest = {one.group: one.record for one in operations}
    operations = [
        one._replace(state="completed") if one.state == ISSUED and one.record < newest[one.group] else one
        for one in operations
    ]
    whole = records == list(range(len(records)))
    return Dump(version, tuple(operations), groups, whole, _world(entries))


def _world(entries: Sequence[Mapping[str, Any]]) -> str:
    """After the entries are read: all of them have names."""
    named = (entry["process_group"] for entry in entries if "process_group" in entry)
    return next((name for name, *about in named if about == [WORLD]), "")


def _in_order(operations: Sequence[Operation]) -> None:
    """Numbers rise within a group; a coalesced group of sends and receives has one number."""
    last: dict[tuple[str, bool], int] = {}
    for one in operations:
        key = one.group, one.p2p
        if one.number < last.get(key, 0):
            raise FlightRecorderError(
                f"record {one.record}: number {one.number} of group {one.group!r} after {last[key]}"
            )
        last[key] = one.number


def _operation(entry: Mapping[str, Any], place: int) -> Operation:
    def whole(name: str) -> int:
        return a_whole(entry.get(name), f"entry {place}: {name}")

    name = entry.get("profiling_name")
    if not isinstance(name, str) or (found := _NAME.fullmatch(name)) is None:
        raise FlightRecorderError(f"entry {place}: profiling_name {shown(name)}, expected such as 'nccl:all_reduce'")
    backend, op, _, arrow, other = found.groups()
    p2p = bool(entry.get("is_p2p", arrow is not None))
    number = whole("seq_id" if "seq_id" in entry else "p2p_seq_id" if p2p else "collective_seq_id")
    sizes = _sizes(entry, place)
    dtypes = some_texts(entry.get("input_dtypes", ("",) * len(sizes)), f"entry {place}: input_dtypes")
    if len(sizes) != len(dtypes):
        raise FlightRecorderError(f"entry {place}: {len(sizes)} sizes of inputs and {len(dtypes)} types")
    return Operation(
        whole("record_id"),
        _group(entry, place),
        number,
        backend,
        op,
        p2p,
        op == "send",
        int(other) if other and other != "?" else None,
        sizes,
        dtypes,
        _state(entry, backend, place),
        _where(entry.get("frames", ())),
    )


def _state(entry: Mapping[str, Any], backend: str, place: int) -> str:
    """Gloo has no events to look at: its "retired" says that the operation is over."""
    state, ended = entry.get("state"), entry.get("time_discovered_completed_ns")
    if state not in STATES:
        raise FlightRecorderError(f"entry {place}: state {shown(state)}, expected one of {', '.join(STATES)}")
    if bool(ended) != (state == "completed") or not isinstance(ended, (int, type(None))):
        raise FlightRecorderError(f"entry {place}: state {state!r}, and time_discovered_completed_ns {shown(ended)}")
    if state == "completed" or backend in WITH_EVENTS or entry.get("retired") is not True:
        return str(state)
    return "completed" if backend in WITH_ENDS else ISSUED


def _group(entry: Mapping[str, Any], place: int) -> str:
    if "process_group" not in entry and "seq_id" in entry:
        return str(a_whole(entry.get("pg_id"), f"entry {place}: pg_id"))
    names = entry.get("process_group")
    if not isinstance(names, (list, tuple)) or not names or not isinstance(names[0], str):
        raise FlightRecorderError(f"entry {place}: process_group {shown(names)}, expected a name and a description")
    return names[0]


def _sizes(entry: Mapping[str, Any], place: int) -> tuple[tuple[int, ...], ...]:
    about = f"entry {place}: input_sizes"
    rows = a_list(entry.get("input_sizes", ()), about)
    return tuple(a_size(row, about) for row in rows)


def _where(frames: object) -> str:
    """ "train.py line 12": the first frame outside of torch."""
    for frame in frames if isinstance(frames, (list, tuple)) else ():
        file = frame.get("filename") if isinstance(frame, Mapping) else None
        if isinstance(file, str) and file.endswith(".py") and "/torch/" not in file:
            return f"{file.rpartition('/')[2][:80]} line {shown(frame.get('line'))}"
    return ""
