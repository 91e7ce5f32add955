"""From one line of NCCL_DEBUG=INFO to a row, a function a kind of line. Chapters: inside-nccl, choosing."""

from __future__ import annotations

import re
from collections.abc import Callable

from helpers.nccl.output.logs.debug_comms import Comms, Torn
from helpers.nccl.output.logs.debug_rows import Chosen, Connection, Nvls, Origin, RingLine, Setting, Timings, TreeLine
from helpers.nccl.output.logs.debug_shapes import ALGORITHMS, PROTOCOLS, STAGED

CUT_RANKS = 20  # of a ring line before 2.23
CUT_TREES = 1023  # characters of a tree line, in every version
_TREE = re.compile(r"\[(\d+)\] (-?\d+)/(-?\d+)/(-?\d+)->(\d+)->(-?\d+)")


class Rows:
    """What has been read so far."""

    def __init__(self) -> None:
        self.comms = Comms()
        self.library = "NCCL"
        self.versions: list[str] = []
        self.rings: list[RingLine] = []
        self.dotted = set[int]()  # lines of rings that end in "..."
        self.trees: list[TreeLine] = []
        self.connections: list[Connection] = []
        self.choices: list[Chosen] = []
        self.settings: list[Setting] = []
        self.nvls: list[Nvls] = []
        self.networks: list[str] = []
        self.plugins: list[str] = []
        self.timings: list[Timings] = []
        self.without_gdr: list[str] = []
        self.chunks: dict[int, int] = {}
        self.warnings: dict[int, str] = {}
        self.notices: dict[int, str] = {}
        self.places: dict[int, str] = {}


def _version(rows: Rows, number: int, origin: Origin, found: re.Match[str]) -> None:
    rows.library = f"{found['library']}CCL"
    rows.versions.append(found["version"])


def _network(rows: Rows, number: int, origin: Origin, found: re.Match[str]) -> None:
    rows.networks.append(found["name"])


def _plugin(rows: Rows, number: int, origin: Origin, found: re.Match[str]) -> None:
    rows.plugins.append(f"{found['kind']}: {found['name']}")


def _member(rows: Rows, number: int, origin: Origin, found: re.Match[str]) -> None:
    rows.comms.member(number, origin, found)


def _nodes(rows: Rows, number: int, origin: Origin, found: re.Match[str]) -> None:
    rows.comms.nodes(number, origin, found)


def _ring(rows: Rows, number: int, origin: Origin, found: re.Match[str]) -> None:
    ranks = tuple(map(int, found["ranks"].split()))
    ranks = ranks[:-1] if found["cut"] else ranks
    channel, channels = int(found["channel"]), int(found["channels"])
    if channel >= channels or len(set(ranks)) < len(ranks) or not ranks:
        raise Torn(f"no ring of channel {channel} of {channels}: a rank twice, or no such channel")
    nranks = rows.comms.nranks(origin)
    short = bool(found["cut"]) or (len(ranks) == CUT_RANKS and nranks != CUT_RANKS)
    if not short and nranks is None and max(ranks) >= len(ranks):
        raise Torn(f"{len(ranks)} ranks in a ring, and rank {max(ranks)} among them")
    rows.comms.row(number, origin, later=False)
    rows.dotted |= {number} if found["cut"] else set()
    rows.rings.append(RingLine(number, None, channel, channels, ranks, not short))


def _trees(rows: Rows, number: int, origin: Origin, found: re.Match[str]) -> None:
    pieces, cut = _TREE.findall(found["trees"]), len(found[0]) >= CUT_TREES
    places = [list(map(int, piece)) for piece in (pieces[:-1] if cut else pieces)]
    if found["rest"] and not found["rest"].startswith(" comm 0x") and not cut:
        raise Torn(f"a tree line goes on with {found['rest']!r}")
    if [place[0] for place in places] != list(range(len(places))) or len({place[4] for place in places}) != 1:
        raise Torn("channels out of order, or places of several ranks in one line")
    for _, *down, rank, up in places:
        near = [other for other in (*down, up) if other >= 0]
        if min(*down, up) < -1 or rank in near or len(set(near)) < len(near):
            raise Torn(f"rank {rank} is its own neighbour in a tree, or has one twice")
    rows.comms.row(number, origin, later=False)
    for channel, *down, rank, up in places:
        children = tuple(child for child in down if child >= 0)
        rows.trees.append(TreeLine(number, None, channel, rank, children, up if up >= 0 else None))


def _connection(rows: Rows, number: int, origin: Origin, found: re.Match[str]) -> None:
    channel, src, dst = (int(found[name]) for name in ("channel", "src", "dst"))
    if src == dst:
        raise Torn(f"a connection of rank {src} with itself")
    rows.comms.row(number, origin, later=True)
    if found["network"] is None:
        kind, how = found["kind"] or "SHM", found["how"] or "direct"
        rows.connections.append(Connection(number, None, channel, src, dst, kind, how))
        return
    nic, proxy = int(found["nic"]), None if found["proxy"] is None else int(found["proxy"])
    gdrdma = True if "/GDRDMA" in found["over"] else False if STAGED.fullmatch(found["over"]) else None
    over = found["network"], nic, found["end"], proxy, gdrdma
    rows.connections.append(Connection(number, None, channel, src, dst, "NET", "", *over))


def _chosen(rows: Rows, number: int, origin: Origin, found: re.Match[str]) -> None:
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
    rows.choices.append(Chosen(number, found["collective"], int(found["nbytes"]), *names, channels, seconds))


def _nvls(rows: Rows, number: int, origin: Origin, found: re.Match[str]) -> None:
    rows.nvls.append(Nvls(number, int(found["device"]), found["no"] is None))


def _nvls_comm(rows: Rows, number: int, origin: Origin, found: re.Match[str]) -> None:
    each, total = int(found["each"]), int(found["total"])
    if each == 0 or total % each:
        raise Torn(f"{total} bytes in all are no multiple of {each} per rank")
    rows.nvls.append(Nvls(number, origin.device, True, found["comm"], each, total))


def _chunk(rows: Rows, number: int, origin: Origin, found: re.Match[str]) -> None:
    rows.chunks[number] = int(found["bytes"])


def _set(rows: Rows, number: int, origin: Origin, found: re.Match[str]) -> None:
    value = found["value"]
    whole = re.fullmatch(r"(-?\d+)\.", value)
    rows.settings.append(Setting(number, found["name"], whole[1] if whole else value))


def _timings(rows: Rows, number: int, origin: Origin, found: re.Match[str]) -> None:
    rank, nranks = int(found["rank"]), int(found["nranks"])
    if rank >= nranks:
        raise Torn(f"rank {rank} of {nranks}")
    parts = (part.split(" ") for part in found["parts"].split(", "))
    rows.timings.append(Timings(number, rank, nranks, float(found["total"]), tuple((n, float(s)) for n, s in parts)))


def _gdr(rows: Rows, number: int, origin: Origin, found: re.Match[str]) -> None:
    rows.without_gdr += [found["card"]] if found["state"] == "Disabled" else []


def _provider(rows: Rows, number: int, origin: Origin, found: re.Match[str]) -> None:
    rows.plugins.append(f"NET/OFI: {found['name']}")


def _ignored(rows: Rows, number: int, origin: Origin, found: re.Match[str]) -> None:
    value = found.groupdict().get("value") or ""
    rows.settings.append(Setting(number, found["name"], value, found[0]))


MAKERS: dict[str, Callable[[Rows, int, Origin, re.Match[str]], None]] = {
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
    "timings": _timings,
    "gdr": _gdr,
    "provider": _provider,
    "invalid": _ignored,
    "unused": _ignored,
    "left": _ignored,
}
