"""What stands before a table of nccl-tests: versions, settings, the program, the devices. Chapters: benchmarking, choosing.

The format strings: writeDeviceReport of src/util.cu at a0b82b2 (2.19.6); before 2.17 the same lines stood in src/common.cu.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from helpers.nccl.output.tables.cleaned import Line
from helpers.nccl.output.tables.errors import TableError
from helpers.nccl.output.tables.fits import NAMES
from helpers.nccl.output.tables.printed import DIGITS

_N = rf"(\d{{1,{DIGITS}}})"
_TESTS = re.compile(rf"nccl-tests version (\S+)(?: \(\w+\))? nccl-headers={_N} nccl-library={_N}", re.ASCII)
_SETTINGS = re.compile(
    rf"nThread {_N} nGpus {_N} minBytes {_N} maxBytes {_N} step: {_N}\((factor|bytes)\) warmup iters: {_N} iters: {_N}"
    rf"(?: agg iters: {_N})?(?: validation: {_N})?(?: graph: {_N})?(?: unalign: {_N})?(?: \w+: \S+)*",
    re.ASCII,
)
_DEVICE = re.compile(
    rf"Rank +{_N}(?: +Group +{_N})? +Pid +{_N} +on +(\S+) +device +{_N} +\[([0-9a-fA-Fx:.]+)\](?: +(\S.*))?",
    re.ASCII,
)
_STARTS = re.compile(r"Collective test starting: (\S+)")
_NCCL = re.compile(r"\bNCCL version (\d{1,4}\.\d{1,4}\.\d{1,4})", re.ASCII)
_RCCL = re.compile(r"RCCL version\s*:?\s*(\d{1,4}\.\d{1,4}\.\d{1,4})", re.ASCII)
_COMMAND = re.compile(rf"\b({'|'.join(NAMES)})_perf(?:_mpi)?(?=\s+-|\s*$)", re.ASCII)
_RANK = re.compile(r"\s*#+\s*Rank +\d+ |.*\bPid +\d+ +on ", re.ASCII)  # not what a script says of its ranks


@dataclass(frozen=True)
class NcclDevice:
    """One rank and where it ran. name: "" where ROCm gave none. bus: as printed, 0x47 or 0000:47:00.

    group: the colour that NCCL_TESTS_SPLIT gave it, 0 where nothing was split; groups run at once, and `rank` counts through all of them.
    """

    rank: int
    group: int
    pid: int
    host: str
    device: int
    bus: str
    name: str


@dataclass(frozen=True)
class NcclSettings:
    """The options of a run. step: a factor, or bytes where `factor` is false. validation: checks per size, 0 for none.

    agg_iters, graph and unalign are None where that version did not print them.
    """

    nthreads: int
    ngpus: int
    min_bytes: int
    max_bytes: int
    step: int
    factor: bool
    warmup_iters: int
    iters: int
    agg_iters: int | None = None
    validation: int | None = None
    graph: int | None = None
    unalign: int | None = None


def version_of(code: int) -> str:
    """22809 -> "2.28.9"; up to 2.8 a version had a digit less: 2708 -> "2.7.8" (NCCL_VERSION in nccl.h)."""
    if code >= 10000:
        return f"{code // 10000}.{code // 100 % 100}.{code % 100}"
    return f"{code // 1000}.{code // 100 % 10}.{code % 100}"


class Facts:
    """What was said since the last table. ranks: how many, where the text says it outright."""

    def __init__(self) -> None:
        self.tests: str | None = None
        self.nccl: str | None = None
        self.nccl_line: Line | None = None
        self.rccl: str | None = None
        self.program: str | None = None
        self.commands: set[str] = set()
        self.settings: NcclSettings | None = None
        self.ranks: int | None = None
        self.devices: dict[tuple[int, int], tuple[NcclDevice, Line]] = {}

    def take(self, line: Line, said: str) -> None:
        """One line; TableError where it begins as one of nccl-tests' and does not go on as such, or says otherwise than before."""
        if said.startswith("nccl-tests version"):
            told = _matched(_TESTS, said, "nccl-tests version 2.18.0 nccl-headers=22907 nccl-library=22907", line)
            self.tests, self.nccl, self.nccl_line = told[1], version_of(int(told[3])), line
        elif said.startswith("Collective test starting"):
            self.program = program_of(
                _matched(_STARTS, said, "Collective test starting: all_reduce_perf", line)[1], line
            )
        elif said.startswith("nThread"):
            self._begin(line, said)
        elif _RANK.match(line.text):
            self._device(line, said)
        elif found := _NCCL.search(said):
            self._nccl(found[1], line)
        elif found := _RCCL.search(said):
            self.rccl = found[1]
        elif found := _COMMAND.search(said):
            self.commands.add(found[1])

    def _begin(self, line: Line, said: str) -> None:
        """The line of settings: what a run said that ended without a table is forgotten."""
        told = _matched(_SETTINGS, said, "nThread 1 nGpus 8 minBytes 8 maxBytes 1024 step: 2(factor) ...", line)
        threads, gpus, low, high, step, warmup, iters = (int(told[at]) for at in (1, 2, 3, 4, 5, 7, 8))
        later = [None if told[at] is None else int(told[at]) for at in (9, 10, 11, 12)]
        self.settings = NcclSettings(threads, gpus, low, high, step, told[6] == "factor", warmup, iters, *later)
        self.devices = {}
        if self.tests is None:
            self.nccl = self.nccl_line = None

    def _device(self, line: Line, said: str) -> None:
        told = _matched(_DEVICE, said, "Rank  0 Group  0 Pid  16629 on node-1 device  0 [0000:06:00] NVIDIA H100", line)
        rank, group, pid, device = (int(told[at] or 0) for at in (1, 2, 3, 5))
        if (group, rank) in self.devices:
            before = self.devices[group, rank][1].number
            raise TableError(
                f"rank {rank} was named in line {before} already: two runs are mixed in one text, as when nccl-tests"
                " was built without MPI=1 and started by mpirun",
                line,
            )
        self.devices[group, rank] = (
            NcclDevice(rank, group, pid, told[4], device, told[6], (told[7] or "").strip()),
            line,
        )

    def _nccl(self, version: str, line: Line) -> None:
        if self.nccl_line and self.nccl != version:
            raise TableError(f"NCCL {version} here, {self.nccl} in line {self.nccl_line.number}", line)
        self.nccl, self.nccl_line = version, self.nccl_line or line

    @property
    def nranks(self) -> int | None:
        """How many ranks took part in one collective; None where the list is not there or not whole."""
        if self.ranks is not None:
            return self.ranks
        sizes = set(Counter(group for group, _ in self.devices).values())
        named = {rank for _, rank in self.devices}  # of all groups: a split numbers them on (writeDeviceReport)
        whole = len(named) == len(self.devices) and named == set(range(len(named)))
        each = self.settings.nthreads * self.settings.ngpus if self.settings else 1
        return sizes.pop() if len(sizes) == 1 and whole and len(self.devices) % max(each, 1) == 0 else None


def program_of(text: str, line: Line | None = None) -> str:
    """all_reduce_perf_mpi -> all_reduce; TableError for a program that nccl-tests has not."""
    name = re.sub(r"_perf(?:_mpi)?(?:\.exe)?$", "", text)
    if name not in NAMES:
        raise TableError(f"a program of nccl-tests is one of {', '.join(NAMES)}, each with _perf, got {text!r}", line)
    return name


def _matched(pattern: re.Pattern[str], said: str, like: str, line: Line) -> re.Match[str]:
    found = pattern.fullmatch(said)
    if found is None:
        raise TableError(f"this should read like: {like}", line)
    return found
