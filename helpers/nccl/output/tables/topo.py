"""Reads `nvidia-smi topo -m`: which way joins two GPUs, or a GPU and a network card. Chapters: interconnects, choosing.

The words are those of the legend that the command prints (nvidia-smi's manual, "topo"): NV# is a number of NVLinks, X a device with
itself. Older drivers wrote SOC for SYS, and named cards mlx5_0 in the matrix itself; newer ones number them, with a legend below.
A matrix that is not whole, or not the same from both sides, is a TopologyError with its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from helpers.nccl.output.tables.cleaned import Line, cleaned
from helpers.nccl.output.tables.errors import TopologyError
from helpers.nccl.output.tables.rings import BestRing, best_ring

WORDS = {
    "SYS": "through PCIe and between CPU sockets",
    "NODE": "through PCIe and between host bridges of one NUMA node",
    "PHB": "through PCIe and one host bridge, as a rule the CPU",
    "PXB": "through several PCIe bridges, no host bridge",
    "PIX": "through one PCIe bridge at most",
}
_ORDER = tuple(WORDS)  # worst first; NVLinks come behind them, the more the better
_OLD = {"SOC": "SYS"}
_LINKS = re.compile(r"NV([1-9]\d?)", re.ASCII)
_DEVICE = re.compile(r"[A-Za-z]\w*\d", re.ASCII)
_GPU = re.compile(r"GPU\d+", re.ASCII)
_NUMBERED = re.compile(r"NIC\d+", re.ASCII)
_NIC = re.compile(r"(NIC\d+): *(\S+)", re.ASCII)
_SPANS = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*|N/A", re.ASCII)
_COLUMNS = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")


@dataclass(frozen=True)
class TopologyEdge:
    """Two devices and the way between them: a word of the legend, with the number of NVLinks where it is NV#."""

    one: str
    other: str
    way: str

    @property
    def links(self) -> int:
        """How many NVLinks, 0 for a way over PCIe. Through an NVSwitch each GPU has as many into the switch."""
        return links_of(self.way)


@dataclass(frozen=True)
class Topology:
    """devices: as the matrix names them, in its order. ways: one word a pair, for both orders of it. nics: {NIC0: "mlx5_0"}.

    cpus, numa: affinity by device as printed ("0-47,96-143", "0"); None where there is none, N/A, or no such column.
    """

    devices: tuple[str, ...]
    ways: Mapping[tuple[str, str], str]
    nics: Mapping[str, str | None]
    cpus: Mapping[str, str | None]
    numa: Mapping[str, str | None]

    @property
    def gpus(self) -> tuple[str, ...]:
        """The GPUs, in the matrix's order."""
        return tuple(device for device in self.devices if _GPU.fullmatch(device))

    def way(self, one: str, other: str) -> str:
        """The word between two devices; TopologyError for one that the matrix does not have."""
        for device in (one, other):
            if device not in self.devices:
                raise TopologyError(f"the devices are {', '.join(self.devices)}, got {device!r}")
        return "X" if one == other else self.ways[one, other]

    def edges(self, devices: Sequence[str] | None = None) -> tuple[TopologyEdge, ...]:
        """Every pair once, of all devices or of these, in order: what a figure draws."""
        named = self.devices if devices is None else tuple(devices)
        return tuple(TopologyEdge(one, other, self.way(one, other)) for one, other in combinations(named, 2))

    def nearest(self, gpu: str) -> tuple[str, ...]:
        """The network cards that are joined best to a GPU."""
        ranks = {nic: rank_of(self.way(gpu, nic)) for nic in self.nics}
        return tuple(nic for nic, rank in ranks.items() if rank == max(ranks.values()))

    def best_ring(self) -> BestRing:
        """A ring over all GPUs with as few hops as possible of the worst kind, then of the next: so its worst hop is the best there is.

        NV# stands above PIX, PXB, PHB, NODE and SYS, and more NVLinks above fewer. Up to ten GPUs no ring is better.
        """
        return best_ring(self.gpus, lambda one, other: rank_of(self.way(one, other)))

    def worst_hop(self, ring: BestRing) -> TopologyEdge | None:
        """The hop that holds a ring up, the first of equals; None for a single GPU."""
        hops = [TopologyEdge(one, other, self.way(one, other)) for one, other in ring.hops]
        return min(hops, key=lambda hop: rank_of(hop.way), default=None)


def links_of(way: str) -> int:
    """NV18 -> 18, any other word 0."""
    found = _LINKS.fullmatch(way)
    return int(found[1]) if found else 0


def rank_of(way: str) -> int:
    """The higher, the better."""
    return len(_ORDER) + links_of(way) if links_of(way) else _ORDER.index(way)


def parse_topo(text: str) -> Topology:
    """The one matrix of a text; TopologyError where there is none, where there are several, or what is wrong with it."""
    if not isinstance(text, str):
        raise TopologyError(f"the output of nvidia-smi topo -m is text, got {type(text).__name__}")
    lines = list(cleaned(text))
    heads = [
        (at, devices) for at, line in enumerate(lines) if (devices := _devices(line)) and "CPU Affinity" in line.text
    ]
    heads = heads or [(at, devices) for at, line in enumerate(lines) if (devices := _devices(line))]
    if not heads:
        raise TopologyError("this is no output of nvidia-smi topo -m: no line with GPU0 ... CPU Affinity was found")
    if len(heads) > 1:
        begin = ", ".join(str(lines[at].number) for at, _ in heads)
        raise TopologyError(f"{len(heads)} matrices, which begin in lines {begin}: give one at a time")
    at, devices = heads[0]
    if len(set(devices)) != len(devices):
        raise TopologyError("a device is named twice", lines[at])
    return _topology(devices, lines[at], lines[at + 1 :])


def _devices(line: Line) -> tuple[str, ...] | None:
    """The devices that a matrix's first line names; None where it is no such line."""
    named, *_ = line.text.partition("CPU Affinity")
    tokens = named.split()
    whole = bool(tokens) and bool(_GPU.fullmatch(tokens[0])) and all(map(_DEVICE.fullmatch, tokens))
    return tuple(tokens) if whole and not any(_way(token) for token in tokens[1:]) else None


def _topology(devices: tuple[str, ...], head: Line, lines: Sequence[Line]) -> Topology:
    names = [name for name in _COLUMNS if name in head.text]
    if " ".join(head.text.split()) != " ".join((*devices, *names)):
        raise TopologyError(f"behind the devices stand {', '.join(_COLUMNS)}, in this order", head)
    rows = {row.text.split()[0]: row for row in _rows(devices, head, lines)}
    cells: dict[tuple[str, str], str] = {}
    tails: dict[str, dict[str, str | None]] = {}
    for device, row in rows.items():
        tokens = row.text.split()[1:]
        cells |= {
            (device, other): _word(device, other, word, row) for other, word in zip(devices, tokens, strict=False)
        }
        tails[device] = _tail(tokens[len(devices) :], names, row)
    _same_from_both_sides(devices, cells, rows)
    ways = {pair: word for pair, word in cells.items() if word != "X"}
    cpus, numa = ({device: tail.get(name) for device, tail in tails.items()} for name in _COLUMNS[:2])
    return Topology(devices, ways, _nics(devices, lines), cpus, numa)


def _rows(devices: tuple[str, ...], head: Line, lines: Sequence[Line]) -> list[Line]:
    """A row a device, in order, without a gap."""
    found: list[Line] = []
    for line, device in zip(lines, devices, strict=False):
        tokens = line.text.split()
        if not tokens or tokens[0] != device:
            raise TopologyError(f"here the row of {device} is missing", line)
        if len(tokens) <= len(devices):
            raise TopologyError(f"a row has {len(devices)} ways behind its device, got {len(tokens) - 1}", line)
        found.append(line)
    if len(found) < len(devices):
        raise TopologyError(f"the text ends before the row of {devices[len(found)]}", found[-1] if found else head)
    return found


def _way(word: str) -> str | None:
    """The word as it is spelled today; None for what is none."""
    word = _OLD.get(word, word)
    return word if word in WORDS or links_of(word) or word == "X" else None


def _word(device: str, other: str, word: str, row: Line) -> str:
    way = _way(word)
    if way is None or (way == "X") != (device == other):
        wanted = "X" if device == other else f"{', '.join(_ORDER)} or NV with a number"
        raise TopologyError(f"between {device} and {other} stands {wanted}, got {word!r}", row)
    return way


def _tail(tokens: Sequence[str], names: Sequence[str], row: Line) -> dict[str, str | None]:
    """What stands behind the ways; nothing at all for a network card."""
    if tokens and len(tokens) != len(names):
        raise TopologyError(f"behind the ways stand {', '.join(names) or 'nothing'}, got {' '.join(tokens)!r}", row)
    for name, token in zip(names, tokens, strict=False):
        if not _SPANS.fullmatch(token):
            raise TopologyError(f"{name} reads like 0-47,96-143, 0 or N/A, got {token!r}", row)
    return {name: None if token == "N/A" else token for name, token in zip(names, tokens, strict=False)}


def _same_from_both_sides(
    devices: Sequence[str], cells: Mapping[tuple[str, str], str], rows: Mapping[str, Line]
) -> None:
    for one, other in combinations(devices, 2):
        if cells[one, other] != cells[other, one]:
            raise TopologyError(
                f"{other} to {one} is {cells[other, one]}, but line {rows[one].number} has {cells[one, other]}",
                rows[other],
            )


def _nics(devices: Sequence[str], lines: Sequence[Line]) -> dict[str, str | None]:
    """What each network card is called: by the legend, or by the matrix where that names it."""
    legend: dict[str, str] = {}
    for line in lines:
        found = _NIC.fullmatch(line.text.strip())
        if found and (found[1] not in devices or found[1] in legend):
            raise TopologyError(f"the matrix has no {found[1]}, or the legend names it twice", line)
        if found:
            legend[found[1]] = found[2]
    cards = [device for device in devices if not _GPU.fullmatch(device)]
    return {card: legend.get(card, None if _NUMBERED.fullmatch(card) else card) for card in cards}
