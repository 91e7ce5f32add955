"""From the lines of NCCL_DEBUG=INFO to rows: one line at a time, each whole or not at all. Chapters: inside-nccl, choosing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from helpers.nccl.output.debug_comms import Comms, Torn
from helpers.nccl.output.debug_rows import Chosen, Connection, Damaged, Nvls, Origin, RingLine, Setting, TreeLine
from helpers.nccl.output.debug_shapes import ALGORITHMS, HEADER, PROTOCOLS, SHAPES

CUT_RANKS = 20  # of a ring line before 2.29
CUT_NUMBERS = 1000  # before 2.29 a ring line has room for three digits a rank
CUT_TREES = 1023  # characters of a tree line, in every version
_TREE = re.compile(r"\[(\d+)\] (-?\d+)/(-?\d+)/(-?\d+)->(\d+)->(-?\d+)")
_BARE = re.compile(  # lines that stand without "NCCL INFO", perhaps behind a launcher's "[1,0]<stdout>:" or "0: "
    r"(?:\[[\d,]+\](?:<std\w+>:)? ?|\d+: ?)?\s*(?P<told>(?:NCCL version \d|Channel \d+(?:/\d+)? : \d+\[).*)"
)


class DebugLogError(ValueError):
    """Not a log of NCCL, or one that cannot be read as asked."""


class Reader:
    """Rows as they come. seen: whether any line was NCCL's."""

    def __init__(self) -> None:
        self.seen, self.unread = False, 0
        self.comms, self.hosts = Comms(), set[str]()
        self.versions: list[str] = []
        self.rings: list[RingLine] = []
        self.trees: list[TreeLine] = []
        self.connections: list[Connection] = []
        self.choices: list[Chosen] = []
        self.settings: list[Setting] = []
        self.nvls: list[Nvls] = []
        self.networks: list[str] = []
        self.plugins: list[str] = []
        self.chunks: dict[int, int] = {}
        self.damaged: list[Damaged] = []

    def read(self, number: int, text: str) -> None:
        """One line of the text. Where two processes wrote into one line, only the last of them has come to its end."""
        headers = list(HEADER.finditer(text))
        if not headers:
            bare = _BARE.fullmatch(text)
            self.seen |= bool(bare)
            if bare:
                self._message(number, Origin(), bare["told"].rstrip())
            return
        self.seen = True
        for header in headers[:-1]:
            self.damaged.append(Damaged(number, text[header.start() :], "another process has written into this line"))
        last = headers[-1]
        host = self._host(last["host"], torn=len(headers) > 1)
        numbers = (int(last[name]) if last[name] else None for name in ("pid", "thread", "device"))
        self._message(number, Origin(host, *numbers), text[last.end() :].rstrip())

    def _host(self, host: str | None, torn: bool) -> str | None:
        """Behind a torn line the host may have the end of that line before it: "53node7" is node7 where such a host is known."""
        if host is None or not torn:
            self.hosts |= {host} if host else set()
            return host
        return max((known for known in self.hosts if host.endswith(known)), key=len, default=host)

    def _message(self, number: int, origin: Origin, text: str) -> None:
        shape = next((shape for shape in SHAPES if shape.begins.match(text)), None)
        if shape is None:
            self.unread += 1
            return
        try:
            if (found := shape.whole.fullmatch(text)) is None:
                raise Torn(f"a line of this kind ({shape.kind}) does not end or go on so")
            READERS[shape.kind](self, number, origin, found)
        except Torn as error:
            self.damaged.append(Damaged(number, text, str(error)))

    def finish(self) -> None:
        """Names the communicators of lines that came before theirs, and takes back what does not fit them."""
        self.rings = self._kept(self.rings, lambda row: max(row.ranks))
        self.trees = self._kept(self.trees, lambda row: max(row.rank, row.parent or 0, *row.children, 0))
        self.connections = self._kept(self.connections, lambda row: max(row.src, row.dst))

    def _kept(self, rows: list[Any], highest: Callable[[Any], int]) -> list[Any]:
        kept = []
        for row in rows:
            comm, nranks = self.comms.of(row.line)
            if nranks is not None and highest(row) >= nranks:
                self.damaged.append(Damaged(row.line, str(row), f"its communicator has {nranks} ranks"))
            elif nranks is not None and isinstance(row, RingLine) and not _fits(row, nranks):
                self.damaged.append(Damaged(row.line, str(row), f"not a ring of {nranks} ranks"))
            else:
                kept.append(row._replace(comm=comm))
        return kept


def _fits(ring: RingLine, nranks: int) -> bool:
    return len(ring.ranks) == nranks if ring.whole else len(ring.ranks) < nranks and nranks <= CUT_NUMBERS


def _version(reader: Reader, number: int, origin: Origin, found: re.Match[str]) -> None:
    reader.versions.append(found[1])


def _network(reader: Reader, number: int, origin: Origin, found: re.Match[str]) -> None:
    reader.networks.append(found["name"])


def _plugin(reader: Reader, number: int, origin: Origin, found: re.Match[str]) -> None:
    reader.plugins.append(f"{found['kind']}: {found['name']}")


def _member(reader: Reader, number: int, origin: Origin, found: re.Match[str]) -> None:
    reader.comms.member(number, origin, found)


def _nodes(reader: Reader, number: int, origin: Origin, found: re.Match[str]) -> None:
    reader.comms.nodes(number, origin, found)


def _ring(reader: Reader, number: int, origin: Origin, found: re.Match[str]) -> None:
    ranks = tuple(map(int, found["ranks"].split()))
    ranks = ranks[:-1] if found["cut"] else ranks
    channel, channels = int(found["channel"]), int(found["channels"])
    if channel >= channels or len(set(ranks)) < len(ranks) or not ranks:
        raise Torn(f"no ring of channel {channel} of {channels}: a rank twice, or no such channel")
    nranks = reader.comms.nranks(origin)
    short = bool(found["cut"]) or (len(ranks) == CUT_RANKS and nranks != CUT_RANKS)
    if not short and nranks is None and max(ranks) >= len(ranks):
        raise Torn(f"{len(ranks)} ranks in a ring, and rank {max(ranks)} among them")
    reader.comms.row(number, origin, later=False)
    reader.rings.append(RingLine(number, None, channel, channels, ranks, not short))


def _trees(reader: Reader, number: int, origin: Origin, found: re.Match[str]) -> None:
    pieces, cut = _TREE.findall(found["trees"]), len(found[0]) >= CUT_TREES
    rows = [list(map(int, piece)) for piece in (pieces[:-1] if cut else pieces)]
    if found["rest"] and not cut:
        raise Torn(f"a tree line goes on with {found['rest']!r}")
    if [row[0] for row in rows] != list(range(len(rows))) or len({row[4] for row in rows}) != 1:
        raise Torn("channels out of order, or places of several ranks in one line")
    for _, *down, rank, up in rows:
        near = [other for other in (*down, up) if other >= 0]
        if min(*down, up) < -1 or rank in near or len(set(near)) < len(near):
            raise Torn(f"rank {rank} is its own neighbour in a tree, or has one twice")
    reader.comms.row(number, origin, later=False)
    for channel, *down, rank, up in rows:
        children = tuple(child for child in down if child >= 0)
        reader.trees.append(TreeLine(number, None, channel, rank, children, up if up >= 0 else None))


def _connection(reader: Reader, number: int, origin: Origin, found: re.Match[str]) -> None:
    channel, src, dst = (int(found[name]) for name in ("channel", "src", "dst"))
    if src == dst:
        raise Torn(f"a connection of rank {src} with itself")
    reader.comms.row(number, origin, later=True)
    if found["network"] is None:
        kind, how = found["kind"] or "SHM", found["how"] or "direct"
        reader.connections.append(Connection(number, None, channel, src, dst, kind, how))
        return
    nic, proxy = int(found["nic"]), None if found["proxy"] is None else int(found["proxy"])
    over = found["network"], nic, found["end"], proxy, found["gdr"] is not None
    reader.connections.append(Connection(number, None, channel, src, dst, "NET", "", *over))


def _chosen(reader: Reader, number: int, origin: Origin, found: re.Match[str]) -> None:
    algorithm, protocol = found["named"], found["proto"]
    try:
        if algorithm is None:
            algorithm, protocol = list(ALGORITHMS)[int(found["algorithm"])], list(PROTOCOLS)[int(found["protocol"])]
        names = ALGORITHMS[algorithm], PROTOCOLS[protocol]
    except (KeyError, IndexError):
        raise Torn(f"NCCL has no such algorithm or protocol: {found[0]!r}") from None
    channels = (int(found["low"]), int(found["high"])) if found["low"] else None
    if channels and channels[0] > channels[1]:
        raise Torn(f"channels from {channels[0]} to {channels[1]}")
    seconds = float(found["time"]) if found["time"] else None
    reader.choices.append(Chosen(number, found["collective"], int(found["nbytes"]), *names, channels, seconds))


def _nvls(reader: Reader, number: int, origin: Origin, found: re.Match[str]) -> None:
    reader.nvls.append(Nvls(number, int(found["device"]), found["no"] is None))


def _nvls_comm(reader: Reader, number: int, origin: Origin, found: re.Match[str]) -> None:
    each, total = int(found["each"]), int(found["total"])
    if each == 0 or total % each:
        raise Torn(f"{total} bytes in all are no multiple of {each} per rank")
    reader.nvls.append(Nvls(number, origin.device, True, found["comm"], each, total))


def _chunk(reader: Reader, number: int, origin: Origin, found: re.Match[str]) -> None:
    reader.chunks[number] = int(found["bytes"])


def _set(reader: Reader, number: int, origin: Origin, found: re.Match[str]) -> None:
    value = found["value"]
    whole = re.fullmatch(r"(-?\d+)\.", value)
    reader.settings.append(Setting(number, found["name"], whole[1] if whole else value))


def _ignored(reader: Reader, number: int, origin: Origin, found: re.Match[str]) -> None:
    value = found.groupdict().get("value") or ""
    reader.settings.append(Setting(number, found["name"], value, found[0]))


READERS: dict[str, Callable[[Reader, int, Origin, re.Match[str]], None]] = {
    "version": _version,
    "network": _network,
    "plugin": _plugin,
    "member": _member,
    "nodes": _nodes,
    "ring": _ring,
    "trees": _trees,
    "connection": _connection,
    "chosen": _chosen,
    "nvls": _nvls,
    "nvls comm": _nvls_comm,
    "chunk": _chunk,
    "set": _set,
    "invalid": _ignored,
    "unused": _ignored,
    "left": _ignored,
}
