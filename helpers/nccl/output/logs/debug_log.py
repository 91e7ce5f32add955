"""Reads what NCCL writes with NCCL_DEBUG=INFO: version, rings, trees, connections, choices and settings. Chapters: inside-nccl, choosing.

The shapes of the lines stand in debug_shapes.py, with the versions of NCCL's source that were read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from helpers.nccl.output.logs.debug_lines import DebugLogError, Reader
from helpers.nccl.output.logs.debug_rows import (
    Chosen,
    CommRank,
    Connection,
    Damaged,
    Nvls,
    RingLine,
    Setting,
    Timings,
    TreeLine,
)


class Communicator(NamedTuple):
    """What the log tells of one communicator. comm_id: None where this NCCL does not tell it; then it is told apart by its ranks.

    members: the ranks whose lines are here, in order; a log of one node has only its own.
    """

    comm_id: str | None
    nranks: int
    members: tuple[CommRank, ...]

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(member.rank for member in self.members)

    @property
    def hosts(self) -> tuple[str, ...]:
        """In the order of the ranks."""
        return tuple(dict.fromkeys(m.origin.host for m in self.members if m.origin.host is not None))


@dataclass(frozen=True)
class DebugLog:
    """A whole log. damaged: lines of a known kind that do not hold together, of which nothing counts. unread: how many other lines.

    library: "NCCL", or AMD's "RCCL". versions: of it, as each is first told. chunks: bytes of a point-to-point chunk, by line.
    without_gdr: cards that NCCL says can not read the GPU's memory. warnings: its "WARN" lines, by line; notices: "ATTN", since 2.32;
    places: where in NCCL's source both stand.
    """

    library: str
    versions: tuple[str, ...]
    members: tuple[CommRank, ...]
    rings: tuple[RingLine, ...]
    trees: tuple[TreeLine, ...]
    connections: tuple[Connection, ...]
    choices: tuple[Chosen, ...]
    settings: tuple[Setting, ...]
    nvls: tuple[Nvls, ...]
    networks: tuple[str, ...]
    plugins: tuple[str, ...]
    timings: tuple[Timings, ...]
    without_gdr: tuple[str, ...]
    chunks: Mapping[int, int]
    warnings: Mapping[int, str]
    notices: Mapping[int, str]
    places: Mapping[int, str]
    damaged: tuple[Damaged, ...]
    unread: int

    @property
    def version(self) -> str | None:
        """The one version, None where the log does not tell it. DebugLogError where it tells several."""
        if len(self.versions) > 1:
            raise DebugLogError(f"the log is of several versions of NCCL: {', '.join(self.versions)}; take .versions")
        return self.versions[0] if self.versions else None

    @property
    def took_effect(self) -> dict[str, tuple[str, ...]]:
        """By name the values that NCCL has read and not refused, each once: more than one where processes differ."""
        refused = {(setting.name, setting.value) for setting in self.settings if setting.ignored}
        return _by_name([s for s in self.settings if not s.ignored and not {(s.name, s.value), (s.name, "")} & refused])

    @property
    def ignored(self) -> dict[str, tuple[str, ...]]:
        """By name why NCCL has not taken what was set, in its own words."""
        return _by_name([setting for setting in self.settings if setting.ignored])

    def transports(self) -> dict[str, int]:
        """How many connection lines went by what: {"P2P/IPC": 24, "NET/IB with GDRDMA": 8}."""
        return dict(Counter(map(transport_text, self.connections)))

    def communicators(self) -> tuple[Communicator, ...]:
        """Ranks that belong together: of one commId, else of one size, a new communicator where a rank comes again."""
        groups: dict[tuple[str | None, int, int], list[CommRank]] = {}
        came = Counter[tuple[str | None, int, int]]()  # how often before
        for one in self.members:
            again = came[one.comm_id, one.nranks, one.rank]
            came[one.comm_id, one.nranks, one.rank] += 1
            groups.setdefault((one.comm_id, one.nranks, again), []).append(one)
        ordered = (sorted(group, key=lambda m: m.rank) for group in groups.values())
        return tuple(Communicator(g[0].comm_id, g[0].nranks, tuple(g)) for g in ordered)

    def __str__(self) -> str:
        comms, damaged = len(self.communicators()), len(self.damaged)
        ways = ", ".join(f"{count} {way}" for way, count in self.transports().items()) or "no connections"
        made = f"{comms} communicator{'s' if comms > 1 else ''}, " if comms else ""
        said = f"{self.library} {' and '.join(self.versions) or 'of an unknown version'}: {made}{ways}"
        return f"{said}; {damaged} damaged line{'s' if damaged > 1 else ''}" if damaged else said


def transport_text(way: Connection) -> str:
    """ "P2P/IPC", "SHM/direct/direct", "NET/IB with GDRDMA"."""
    if way.network is not None:
        over = {True: " with GDRDMA", False: " without GDRDMA", None: ""}
        return f"NET/{way.network}{over[way.gdrdma]}"
    return f"{way.transport}/{way.how}"


def parse_debug_log(text: str, strict: bool = False) -> DebugLog:
    """What the log says; lines of other programs between NCCL's are passed over, lines of an unknown kind counted in `unread`.

    Processes write into each other's lines, so a real log has torn ones: these stand in `damaged` with their number, and nothing of
    them counts. A last line without its newline is one of them where it may go on. strict: the first of them is a DebugLogError.
    DebugLogError too for a text without any line of NCCL. A digit that was changed, or a line that was wrapped by hand, can not be told.
    """
    reader = Reader()
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        reader.read(number, line.rstrip("\r"), ended=number < len(lines))
    reader.finish()
    if not reader.seen:
        raise DebugLogError(f"no line of NCCL in these {len(lines)} lines: expected 'host:1:2 [0] NCCL INFO ...'")
    if strict and reader.damaged:
        raise DebugLogError(str(min(reader.damaged)))
    return DebugLog(
        reader.library,
        tuple(dict.fromkeys(reader.versions)),
        tuple(reader.comms.members),
        tuple(reader.rings),
        tuple(reader.trees),
        tuple(reader.connections),
        tuple(reader.choices),
        tuple(reader.settings),
        tuple(reader.nvls),
        tuple(dict.fromkeys(reader.networks)),
        tuple(dict.fromkeys(reader.plugins)),
        tuple(reader.timings),
        tuple(dict.fromkeys(reader.without_gdr)),
        reader.chunks,
        reader.warnings,
        reader.notices,
        reader.places,
        tuple(sorted(reader.damaged)),
        reader.unread,
    )


def _by_name(settings: Sequence[Setting]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for setting in settings:
        found.setdefault(setting.name, {})[setting.ignored or setting.value] = None
    return {name: tuple(values) for name, values in found.items()}
