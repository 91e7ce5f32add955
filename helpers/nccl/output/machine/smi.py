"""Reads nvidia-smi: its table of GPUs and processes, `-q`, `nvlink -s` and `nvlink -e`. Chapter: interconnects.

nvidia-smi's source is closed: the shapes are those that its drivers 361 to 595 print in public reports. Old tables have no MIG row and
no GI and CI before a process; what is lost or broken stands as ERR! or Unknown Error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from helpers.nccl.output.tables.cleaned import spaced

TABLE = re.compile(r"\| NVIDIA-SMI +\d|\| *GPU +Name .*Bus-Id", re.ASCII)
QUERY = re.compile(r"=NVSMI LOG=|Clocks (?:Throttle|Event) Reasons|[DS]RAM Uncorrectable[\w -]*:", re.ASCII)
LINKS = re.compile(
    r"(?<!C2C )\bLink \d{1,12}: *(?:<inactive>|[\d.]+ GB/s)|\bLink \d{1,12}: *(?:Replay|Recovery|CRC)[\w ]* Errors:",
    re.ASCII,
)
_VERSIONS = re.compile(r"(?:Driver|KMD) Version *: *([\d.]+)(?:.*?CUDA (?:UMD )?Version *: *([\d.]+))?", re.ASCII)
_FIRST = re.compile(
    r"\|\s+(?P<number>\d{1,12})\s+(?P<name>\S.*?)\s+(?P<stays>On|Off|N/A|WDDM|TCC|MCDM)\s*\|\s*(?:[\dA-Fa-f]{4}){1,2}:[\dA-Fa-f]{2}:[\dA-Fa-f]{2}\.\d\s+\S+\s*\|"
    r"\s*(?P<ecc>\S.*?)\s*\|",
    re.ASCII,
)
_SECOND = re.compile(
    r"\|\s*(?P<fan>\S+)\s+(?P<temp>\S+)\s+(?P<state>P\d+|N/A|ERR!|Unknown)\s+(?P<power>\S+(?: Error)?)\s*/\s*(?P<cap>\S+(?: Error)?)\s*\|"
    r"\s*(?:(?P<used>\S+?)(?:MiB)?\s*/\s*(?P<total>\S+?)(?:MiB)?|Not Supported)\s*\|\s*(?P<util>\S+)\s+(?P<mode>\S.*?)\s*\|",
    re.ASCII,
)
_MIG = re.compile(r"\|\s+\|\s+\|\s*(Enabled)\*?\s*\|", re.ASCII)
_PROCESS = re.compile(
    r"\|\s+(\d{1,12})\s+(?:\S+\s+\S+\s+)?(\d{1,12})\s+(C|G|M|C\+G|M\+C)\s+(\S.*?)\s+(?:(\d{1,12})MiB|N/A)\s*\|",
    re.ASCII,
)
_ON_GPU = re.compile(r"^\s*(?:[\w.-]+: +)?GPU ([\da-fA-F:.]+?):?(?: (\S.*\(UUID.*)|\s*)$", re.ASCII)
_REASON = re.compile(
    r"(HW Thermal Slowdown|HW Power Brake Slowdown|HW Slowdown|SW Thermal Slowdown|SW Power Cap|Idle) *: *Active",
    re.ASCII,
)
_WIDEST = 400  # letters of a row of the table, with what stands before it
_PART = re.compile(r"Clocks (?:Throttle|Event) Reasons|[DS]RAM Uncorrectable")
_LANES = re.compile(r"Link Width\s+Max *: *(\d{1,12})x\s+Current *: *(\d{1,12})x", re.ASCII)
_FABRIC = re.compile(r"\bFabric\s+State *: *(\S[^\n]*?) *$", re.ASCII | re.MULTILINE)
_ECC = re.compile(r"[DS]RAM Uncorrectable[\w -]*: *(\d{1,12})", re.ASCII)
_LINK = re.compile(r"(?<!C2C )\bLink (\d{1,12}): *(<inactive>|\d{1,12}(?:\.\d{1,12})? GB/s)", re.ASCII)
_ERRORS = re.compile(r"\bLink (\d{1,12}): *((?:Replay|Recovery|CRC)[\w ]*Errors): *(\d{1,12})", re.ASCII)


class Gpu(NamedTuple):
    """A row. used, total: bytes; power, cap: watts; util: percent; None where nvidia-smi says N/A.

    broken: something stands as an error. stays: persistence mode is on.
    """

    number: int
    name: str
    ecc: int | None
    temp: float | None
    state: str
    power: float | None
    cap: float | None
    used: float | None
    total: float | None
    util: float | None
    mig: bool
    broken: bool
    stays: bool


class Process(NamedTuple):
    """gpu: its number. kind: C computes, G draws. nbytes: None where nvidia-smi does not tell."""

    gpu: int
    pid: int
    kind: str
    name: str
    nbytes: float | None


class Table(NamedTuple):
    """driver, cuda: as printed, "" where the head is not there."""

    driver: str
    cuda: str
    gpus: tuple[Gpu, ...]
    processes: tuple[Process, ...]


class Queried(NamedTuple):
    """What `nvidia-smi -q` says of one GPU. reasons: those that hold its clocks now.

    lanes: of its slot, most and now. limits: of its power, now and by default, watts. Both None where they are not told. ecc: errors of
    memory since the driver was loaded that were not corrected. failed: a row of memory could not be replaced; pending: one waits for it.
    fabric: the state of NVSwitch's, "" where it is not told.
    """

    gpu: str
    reasons: tuple[str, ...]
    lanes: tuple[int, int] | None
    limits: tuple[float, float] | None
    ecc: int
    failed: bool
    pending: bool
    fabric: str


class Linked(NamedTuple):
    """NVLinks of one GPU. name: with its UUID. rates: bytes per second one way as nvidia-smi prints them, None where inactive.

    errors: counters by link and kind.
    """

    gpu: str
    name: str
    rates: dict[int, float | None]
    errors: dict[str, int]


def parse_tables(text: str) -> tuple[Table, ...]:
    """Every table with a whole GPU; another begins where a GPU's number comes again."""
    found: list[tuple[list[str], list[Gpu], list[Process]]] = []
    first: re.Match[str] | None = None
    versions: list[str] = ["", ""]
    for line in spaced(text).split("\n"):
        if len(line) > _WIDEST:
            continue
        if told := _VERSIONS.search(line):
            versions = [told[1], told[2] or ""]
        if begun := _FIRST.search(line):
            first = begun
        elif first and (second := _SECOND.search(line)):
            gpu = _gpu(first, second)
            if not found or any(one.number == gpu.number for one in found[-1][1]):
                found.append((versions, [], []))
            found[-1][1].append(gpu)
            first = None
        elif found and _MIG.search(line):
            found[-1][1][-1] = found[-1][1][-1]._replace(mig=True)
        elif found and (ran := _PROCESS.search(line)):
            nbytes = float(ran[5]) * 2**20 if ran[5] else None
            found[-1][2].append(Process(int(ran[1]), int(ran[2]), ran[3], ran[4], nbytes))
    return tuple(Table(told[0], told[1], tuple(gpus), tuple(processes)) for told, gpus, processes in found)


def _gpu(first: re.Match[str], second: re.Match[str]) -> Gpu:
    told = {name: value or "" for name, value in (first.groupdict() | second.groupdict()).items()}
    broken = any(word in " ".join(told.values()) for word in ("ERR!", "Unknown"))
    used, total = _number(told["used"]), _number(told["total"])
    return Gpu(
        int(told["number"]),
        told["name"],
        int(told["ecc"]) if re.fullmatch(r"\d{1,12}", told["ecc"], re.ASCII) else None,
        _number(told["temp"]),
        told["state"],
        _number(told["power"]),
        _number(told["cap"]),
        None if used is None else used * 2**20,
        None if total is None else total * 2**20,
        _number(told["util"]),
        mig=False,
        broken=broken,
        stays=told["stays"] != "Off",
    )


def _number(text: str) -> float | None:
    found = re.match(r"\d{1,12}(?:\.\d{1,12})?", text, re.ASCII)
    return float(found[0]) if found else None


def parse_queries(text: str) -> tuple[Queried, ...]:
    """`nvidia-smi -q`, whole or a part of it by -d, of every GPU."""
    return tuple(
        _queried(gpu, "\n".join(lines)) for gpu, _, lines in _by_gpu(text) if gpu or _PART.search("\n".join(lines))
    )


def _queried(gpu: str, text: str) -> Queried:
    lanes, fabric = _LANES.search(text), _FABRIC.search(text)
    now, usual = (
        re.search(name + r" Power Limit *: *(\d{1,12}(?:\.\d{1,12})?)", text, re.ASCII)
        for name in ("(?:Current|Requested)", "Default")
    )
    ecc = sum(int(hit[1]) for hit in _ECC.finditer(text.partition("Aggregate")[0]))
    return Queried(
        gpu,
        tuple(dict.fromkeys(hit[1] for hit in _REASON.finditer(text))),
        (int(lanes[1]), int(lanes[2])) if lanes else None,
        (float(now[1]), float(usual[1])) if now and usual else None,
        ecc,
        bool(re.search(r"Remapping Failure Occurred *: *Yes", text)),
        bool(re.search(r"Remapped Rows\s(?:.*\n){1,4}?\s*Pending *: *Yes", text)),
        fabric[1] if fabric else "",
    )


def parse_links(text: str) -> tuple[Linked, ...]:
    """`nvidia-smi nvlink -s` and `-e` of every GPU; both of one GPU are put together."""
    found: dict[str, Linked] = {}
    for gpu, name, lines in _by_gpu(text):
        one = found.setdefault(name, Linked(gpu, name, {}, {}))
        for line in lines:
            if link := _LINK.search(line):
                one.rates[int(link[1])] = None if link[2].startswith("<") else float(link[2].split()[0]) * 1e9
            elif error := _ERRORS.search(line):
                one.errors[f"link {error[1]}, {error[2]}"] = int(error[3])
    return tuple(one for one in found.values() if one.rates or one.errors)


def _by_gpu(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Lines below each GPU's own; those before the first belong to a nameless one."""
    gpu, name, lines = "", "", list[str]()
    for line in spaced(text).split("\n"):
        if begun := _ON_GPU.match(line):
            if lines:
                yield gpu, name, lines
            gpu, name, lines = begun[1], begun[2] or "", []
        else:
            lines.append(line)
    if lines:
        yield gpu, name, lines
