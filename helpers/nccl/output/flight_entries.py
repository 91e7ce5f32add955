"""One dump of torch's flight recorder as operations: every field looked at, and none believed that contradicts another. Chapter: hangs.

Fields as torch 2.13 writes them (version 2.10 of the dump), read in torch/csrc/distributed/c10d/FlightRecorder.hpp and
FlightRecorderDetail.hpp: as a pickle from _dump_nccl_trace and TORCH_FR_DUMP_TEMP_FILE, as JSON from its HTTP server.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from helpers.plain_pickle import NotPlain, check_depth, load_plain

LONGEST = 64 << 20  # bytes of one dump; 2,000 operations with their stacks are some 4 MiB
STATES = ("scheduled", "started", "completed")
_NAME = re.compile(r"(\w+):(\w+)(?: (\d+)(->|<-)(\d+))?")
_RANKS = re.compile(r"\[(\d+(?:, ?\d+)*)\]")


class FlightRecorderError(ValueError):
    """Not a dump of the flight recorder, one that contradicts itself, or a file that asks for more than data."""


class Operation(NamedTuple):
    """One entry. number: which of its group's collectives, or which send or receive; 1 is the first where nothing was lost.

    state: "scheduled" (handed over), "started" (on the GPU; known only where torch times its operations) or "completed".
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

    The dump's pg_status is not read: Gloo counts messages among the "collectives" there.
    """

    version: str
    operations: tuple[Operation, ...]
    groups: Mapping[str, tuple[int, ...]]
    whole: bool


def read_dump(source: object, rank: int) -> Dump:
    """A pickle's bytes, JSON as text or bytes, or what either holds."""
    try:
        return _dump(_data(source))
    except FlightRecorderError as error:
        raise FlightRecorderError(f"rank {rank}: {error}") from None


def _data(source: object) -> Mapping[str, Any]:
    try:
        if isinstance(source, (bytes, bytearray, str)):
            source = _loaded(source)
        check_depth(source)
    except NotPlain as error:
        raise FlightRecorderError(f"the dump {error}" if "not a pickle" not in str(error) else str(error)) from None
    if not isinstance(source, Mapping) or "version" not in source or "pg_config" not in source:
        raise FlightRecorderError(
            "no dump of the flight recorder: expected a dict with 'version', 'pg_config' and 'entries'"
        )
    return source


def _loaded(source: bytes | bytearray | str) -> object:
    if isinstance(source, str) or source.lstrip()[:1] == b"{":
        if len(source) > LONGEST:
            raise NotPlain(f"is longer than {LONGEST} bytes: {len(source)}")
        try:
            return json.loads(source)
        except (ValueError, RecursionError) as error:
            raise FlightRecorderError(f"not JSON: {error}") from None
    return load_plain(bytes(source), LONGEST)


def _dump(data: Mapping[str, Any]) -> Dump:
    groups = {name: _ranks(name, about) for name, about in _mapping(data["pg_config"], "pg_config").items()}
    entries = _list(data.get("entries", ()), "entries")
    operations = [_operation(_mapping(entry, f"entry {place}"), place) for place, entry in enumerate(entries)]
    records = [operation.record for operation in operations]
    if any(later <= earlier for earlier, later in itertools.pairwise(records)):
        raise FlightRecorderError(f"record_id does not rise: {records[:8]}")
    _in_order(operations)
    return Dump(str(data["version"]), tuple(operations), groups, records == list(range(len(records))))


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
        return _whole(entry.get(name), f"entry {place}: {name}")

    name = entry.get("profiling_name")
    if not isinstance(name, str) or (found := _NAME.fullmatch(name)) is None:
        raise FlightRecorderError(
            f"entry {place}: profiling_name {str(name)[:60]!r}, expected such as 'nccl:all_reduce'"
        )
    backend, op, _, arrow, other = found.groups()
    p2p = bool(entry.get("is_p2p", arrow is not None))
    number = whole("p2p_seq_id" if p2p else "collective_seq_id")
    sizes, dtypes = _sizes(entry, place), _texts(entry.get("input_dtypes", ()), f"entry {place}: input_dtypes")
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
        int(other) if other else None,
        sizes,
        dtypes,
        _state(entry, backend, place),
        _where(entry.get("frames", ())),
    )


def _state(entry: Mapping[str, Any], backend: str, place: int) -> str:
    """Gloo has no events to look at: there "retired" says that the operation is over."""
    state, ended = entry.get("state"), entry.get("time_discovered_completed_ns")
    if state not in STATES:
        raise FlightRecorderError(f"entry {place}: state {str(state)[:40]!r}, expected one of {', '.join(STATES)}")
    if bool(ended) != (state == "completed"):
        raise FlightRecorderError(f"entry {place}: state {state!r}, and time_discovered_completed_ns {str(ended)[:40]}")
    return "completed" if backend == "gloo" and entry.get("retired") is True else str(state)


def _group(entry: Mapping[str, Any], place: int) -> str:
    names = entry.get("process_group")
    if not isinstance(names, (list, tuple)) or not names or not isinstance(names[0], str):
        raise FlightRecorderError(
            f"entry {place}: process_group {str(names)[:60]!r}, expected a name and a description"
        )
    return names[0]


def _sizes(entry: Mapping[str, Any], place: int) -> tuple[tuple[int, ...], ...]:
    about = f"entry {place}: input_sizes"
    rows = _list(entry.get("input_sizes", ()), about)
    return tuple(tuple(_whole(length, about) for length in _list(row, about)) for row in rows)


def _where(frames: object) -> str:
    """ "train.py line 12": the first frame outside of torch."""
    for frame in frames if isinstance(frames, (list, tuple)) else ():
        file = str(frame.get("filename", "")) if isinstance(frame, Mapping) else ""
        if file.endswith(".py") and "/torch/" not in file:
            return f"{file.rpartition('/')[2]} line {frame.get('line')}"
    return ""


def _ranks(name: object, about: object) -> tuple[int, ...]:
    text = about.get("ranks") if isinstance(about, Mapping) else None
    found = _RANKS.fullmatch(text) if isinstance(text, str) else None
    ranks = tuple(map(int, found[1].split(","))) if found else ()
    if not ranks or len(set(ranks)) < len(ranks):
        raise FlightRecorderError(
            f"pg_config of {str(name)[:40]!r}: ranks {str(text)[:60]!r}, expected such as '[0, 1]'"
        )
    return tuple(sorted(ranks))


def _whole(value: object, about: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise FlightRecorderError(f"{about} is {type(value).__name__}, expected a whole number from 0 on")
    return value


def _texts(value: object, about: str) -> tuple[str, ...]:
    texts = _list(value, about)
    if not all(isinstance(text, str) for text in texts):
        raise FlightRecorderError(f"{about}: expected texts")
    return tuple(str(text) for text in texts)


def _list(value: object, about: str) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise FlightRecorderError(f"{about} is {type(value).__name__}, expected a list")
    return value


def _mapping(value: object, about: str) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise FlightRecorderError(f"{about} is {type(value).__name__}, expected a dict")
    return value
