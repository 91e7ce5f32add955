"""Reads `nvidia-smi topo -m`: which way joins two GPUs, or a GPU and a network card. Chapters: interconnects, choosing.

The words are those of the legend that the command prints (nvidia-smi's manual, "topo"): NV# is a number of NVLinks, X a device with
itself. Older drivers wrote SOC for SYS, and named cards mlx5_0 in the matrix itself; newer ones number them, with a legend below. Read
are also lines that a terminal broke in two or whose columns it pushed together (NODENODE), rows of GPUs alone, rows without their
head, and a GPU without a processor of its own (drivers in virtual machines). A matrix that is not whole, or not the same from both
sides, is a TopologyError with its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, NoReturn

from helpers.nccl.output.machine.topology import WORDS, Topology, links_of
from helpers.nccl.output.tables.cleaned import Line, cleaned
from helpers.nccl.output.tables.errors import TopologyError

_OLD = {"SOC": "SYS"}
_DEVICE = re.compile(r"[A-Za-z]\w*\d", re.ASCII)
_GPU = re.compile(r"GPU\d+", re.ASCII)
_NUMBERED = re.compile(r"NIC\d+", re.ASCII)
_NIC = re.compile(r"(NIC\d+): *(\S+)", re.ASCII)
_SPANS = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*|N/A", re.ASCII)
_SHORT = re.compile(r"\d{1,2}|N/A", re.ASCII)  # no list of processors
_WAYS = re.compile(r"X|SYS|SOC|NODE|PHB|PXB|PIX|NV[1-9]\d?", re.ASCII)
_PUSHED = re.compile(rf"(?:{_WAYS.pattern})+", re.ASCII)
_COLUMNS = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
_HEAD = {word for name in _COLUMNS for word in name.split()}


class _Row(NamedTuple):
    """A row, perhaps of several lines: its words behind the device."""

    line: Line
    words: list[str]


def parse_topo(text: str) -> Topology:
    """The one matrix of a text; TopologyError where there is none, where there are several, or what is wrong with it."""
    lines, heads = _heads(text)
    if len(heads) > 1:
        begin = ", ".join(str(lines[at].number) for at, *_ in heads)
        raise TopologyError(f"{len(heads)} matrices, which begin in lines {begin}: give one at a time")
    return _matrix(lines, heads[0], len(lines))


def parse_topos(text: str) -> tuple[Topology, ...]:
    """Every matrix of a text, as of several machines, in order; TopologyError as of parse_topo."""
    lines, heads = _heads(text)
    ends = [*(at for at, *_ in heads[1:]), len(lines)]
    return tuple(_matrix(lines, head, end) for head, end in zip(heads, ends, strict=True))


def _heads(text: str) -> tuple[list[Line], list[tuple[int, str, int]]]:
    """The lines, and every head of a matrix among them: those that name processors, where any does."""
    if not isinstance(text, str):
        raise TopologyError(f"the output of nvidia-smi topo -m is text, got {type(text).__name__}")
    lines = list(cleaned(text))
    heads = [found for at in range(len(lines)) if (found := _head(lines, at))]
    heads = [found for found in heads if found[1].endswith(_COLUMNS)] or heads or _headless(lines)
    if not heads:
        raise TopologyError("this is no output of nvidia-smi topo -m: no line with GPU0 ... CPU Affinity was found")
    return lines, heads


def _matrix(lines: Sequence[Line], head: tuple[int, str, int], end: int) -> Topology:
    at, words, start = head
    devices = tuple(words.partition(_COLUMNS[0])[0].split())
    if len(set(devices)) != len(devices):
        raise TopologyError("a device is named twice", lines[at])
    return _topology(devices, words, lines[at], lines[start:end])


def _head(lines: Sequence[Line], at: int) -> tuple[int, str, int] | None:
    """Where a matrix's first line stands, its words and where its rows begin; a terminal may have broken it. None for another line."""
    words = lines[at].text.split()
    if not words or not _GPU.fullmatch(words[0]) or not _names_devices(words[1:]):
        return None
    end = at + 1
    while _COLUMNS[-1] not in " ".join(words) and end < len(lines):
        more = lines[end].text.split()
        if not more or more[0] == words[0] or not _names_devices(more):
            break
        words, end = words + more, end + 1
    return at, " ".join(words), end


def _names_devices(words: Sequence[str]) -> bool:
    return all((_DEVICE.fullmatch(word) and not _way(word)) or word in _HEAD for word in words)


def _headless(lines: Sequence[Line]) -> list[tuple[int, str, int]]:
    """Of rows whose head was lost: as many GPUs as rows of GPUs, and cards for the other columns."""
    at = next((at for at, line in enumerate(lines) if line.text.split()[:2] == ["GPU0", "X"]), None)
    if at is None or any(_COLUMNS[0] in line.text for line in lines):
        return []
    words = _words(lines[at])
    ways = sum(1 for word in words if _way(word))
    gpus = next((n for n, line in enumerate(lines[at:]) if line.text.split()[:1] != [f"GPU{n}"]), len(lines) - at)
    named = [f"GPU{n}" for n in range(gpus)] + [f"NIC{n}" for n in range(ways - gpus)]
    return [(at, " ".join([*named, *_COLUMNS[: len(words) - ways]]), at)]


def _topology(devices: tuple[str, ...], head: str, line: Line, lines: Sequence[Line]) -> Topology:
    names = [name for name in _COLUMNS if name in head]
    if head != " ".join((*devices, *names)):
        raise TopologyError(f"behind the devices stand {', '.join(_COLUMNS)}, in this order", line)
    rows = _rows(devices, len(names), line, lines)
    cells: dict[tuple[str, str], str] = {}
    tails: dict[str, dict[str, str | None]] = {}
    for device, row in rows.items():
        for other, word in zip(devices, row.words, strict=False):
            cells[device, other] = _word(device, other, word, row.line)
        tails[device] = _tail(row.words[len(devices) :], names, row.line)
    _same_from_both_sides(devices, cells, rows)
    ways = {pair: word for pair, word in cells.items() if word != "X"}
    ways |= {pair[::-1]: word for pair, word in ways.items()}
    cpus, numa, own = ({device: tails.get(device, {}).get(name) for device in devices} for name in _COLUMNS)
    return Topology(devices, ways, _nics(devices, lines), cpus, numa, own)


def _rows(devices: tuple[str, ...], names: int, head: Line, lines: Sequence[Line]) -> dict[str, _Row]:
    """A row a device, in order, without a gap; those of the cards may be missing all together."""
    found: dict[str, _Row] = {}
    at = 0
    for device in devices:
        line = lines[at] if at < len(lines) else None
        if line is None or line.text.split()[:1] != [device]:
            if list(found) == [name for name in devices if _GPU.fullmatch(name)]:
                break
            _missing(device, line, found, head)
        words, at = _row(lines, at, len(devices) + (names if _GPU.fullmatch(device) else 0))
        if len(words) < len(devices):
            raise TopologyError(f"a row has {len(devices)} ways behind its device, got {len(words)}", line)
        found[device] = _Row(line, words)
    return found


def _missing(device: str, line: Line | None, found: Mapping[str, _Row], head: Line) -> NoReturn:
    if line is None or not line.text.strip():
        last = [*found.values()][-1].line if found else head
        raise TopologyError(f"the text ends before the row of {device}", last)
    raise TopologyError(f"here the row of {device} is missing", line)


def _row(lines: Sequence[Line], at: int, whole: int) -> tuple[list[str], int]:
    """A row's words and where the next begins: a terminal may have broken the line."""
    words, at = _words(lines[at]), at + 1
    while len(words) < whole and at < len(lines):
        more = lines[at].text.split()
        if not more or not all(_PUSHED.fullmatch(word) or _SPANS.fullmatch(word) for word in more):
            break
        words, at = words + _apart(more), at + 1
    return words, at


def _words(row: Line) -> list[str]:
    return _apart(row.text.split()[1:])


def _apart(words: Sequence[str]) -> list[str]:
    """NODENODE -> NODE, NODE: a terminal that breaks a long line may swallow what stood between two columns."""
    return [part for word in words for part in (_WAYS.findall(word) if _PUSHED.fullmatch(word) else [word])]


def _way(word: str) -> str | None:
    """The word as it is spelled today; None for what is none."""
    word = _OLD.get(word, word)
    return word if word in WORDS or links_of(word) or word == "X" else None


def _word(device: str, other: str, word: str, row: Line) -> str:
    way = _way(word)
    if way is None or (way == "X") != (device == other):
        wanted = "X" if device == other else f"{', '.join(WORDS)} or NV with a number"
        raise TopologyError(f"between {device} and {other} stands {wanted}, got {word!r}", row)
    return way


def _tail(tokens: Sequence[str], names: Sequence[str], row: Line) -> dict[str, str | None]:
    """What stands behind the ways; nothing at all for a network card."""
    if len(tokens) < len(names) and all(map(_SHORT.fullmatch, tokens)):
        tokens = ["N/A"] * (len(names) - len(tokens)) + list(
            tokens
        )  # a virtual machine's GPU may have no processor of its own
    if tokens and len(tokens) != len(names):
        raise TopologyError(f"behind the ways stand {', '.join(names) or 'nothing'}, got {' '.join(tokens)!r}", row)
    for name, token in zip(names, tokens, strict=False):
        if not _SPANS.fullmatch(token):
            raise TopologyError(f"{name} reads like 0-47,96-143, 0 or N/A, got {token!r}", row)
    return {name: None if token == "N/A" else token for name, token in zip(names, tokens, strict=False)}


def _same_from_both_sides(
    devices: Sequence[str], cells: Mapping[tuple[str, str], str], rows: Mapping[str, _Row]
) -> None:
    for one, other in combinations(devices, 2):
        if other in rows and cells[one, other] != cells[other, one]:
            raise TopologyError(
                f"{other} to {one} is {cells[other, one]}, but line {rows[one].line.number} has {cells[one, other]}",
                rows[other].line,
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
