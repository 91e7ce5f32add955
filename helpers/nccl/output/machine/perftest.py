"""Reads ib_write_bw, ib_read_bw and ib_send_bw, and says of ib_*_lat that it is a latency. Chapter: interconnects.

After perftest 00b55b6 (2026-07): RESULT_FMT in src/perftest_parameters.h, print_report_bw in src/perftest_parameters.c. What is printed
as MB/sec, and as MiB/sec since 2022, is bytes over 0x100000; with --report_gbits Gb/sec is bytes over 125,000,000.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from helpers.nccl.output.tables.cleaned import Line, spaced
from helpers.nccl.output.tables.errors import MachineError, NoTable

SIGN = re.compile(r"#bytes +#iterations|\b(?:RDMA_(?:Write|Read)|Send)(?: \w+)* BW Test", re.ASCII)
UNITS = {"MB": 1 << 20, "MiB": 1 << 20, "Gb": 125e6}
_HEAD = re.compile(
    r"#bytes +(?:#sl +)?#iterations +BW peak\[(MB|MiB|Gb)/sec\] +BW average\[(?:MB|MiB|Gb)/sec\]", re.ASCII
)
_LATENCY = re.compile(r"#bytes +#iterations +t_", re.ASCII)
_ROW = re.compile(
    r"(?:^|[\s>|])(\d{1,12})\s+\d{1,12}\s+(\d{1,12}\.\d{1,12}|inf)\s+(\d{1,12}\.\d{1,12})(?:\s|$)", re.ASCII
)
_TITLE = re.compile(
    r"((?:RDMA_|)(?:Write|Read|Send)|Atomic\w*)( Bidirectional)?(?: \w+)* BW Test", re.ASCII | re.IGNORECASE
)
_DEVICE = re.compile(r"\bDevice *: *(\S+)", re.ASCII)
_GPU = re.compile(r"cuMemAlloc|CUDA|hipMalloc|ROCm|dmabuf", re.ASCII)


class Wire(NamedTuple):
    """One run. verb: "Write", "Read", "Send", or "" where the text begins later.

    rates, peaks: bytes per second by message size, on average and the highest. both: both directions were counted. gpu: the memory was a
    GPU's.
    """

    verb: str
    device: str
    rates: dict[int, float]
    both: bool
    gpu: bool
    peaks: dict[int, float]

    @property
    def peak(self) -> float:
        return max(self.peaks.values(), default=0.0)

    @property
    def best(self) -> tuple[int, float]:
        """Size and rate of the fastest row."""
        return max(self.rates.items(), key=lambda one: one[1])


def parse_perftest(text: str) -> tuple[Wire, ...]:
    """Every table of bandwidths; NoTable where there is none, MachineError for a head without a row."""
    found: list[Wire] = []
    verb, device, both, gpu, unit = "", "", False, False, ""
    head: Line | None = None
    for number, line in enumerate(spaced(text).split("\n"), start=1):
        if title := _TITLE.search(line):
            verb, both = title[1].removeprefix("RDMA_"), bool(title[2])
        gpu = gpu or bool(_GPU.search(line))
        device = named[1] if (named := _DEVICE.search(line)) else device
        if columns := _HEAD.search(line):
            found = [one for one in found if one.rates]  # both ends in one log print their heads one after the other
            unit, head = columns[1], Line(number, line, line)
            found.append(Wire(verb, device, {}, both, gpu, {}))
            verb, both, gpu = "", False, False
        elif head and (row := _ROW.search(line)):
            found[-1].rates[int(row[1])] = float(row[3]) * UNITS[unit]
            found[-1].peaks[int(row[1])] = 0.0 if row[2] == "inf" else float(row[2]) * UNITS[unit]
    if head and not any(one.rates for one in found):
        raise MachineError("no row follows the names of the columns", head)
    if not found:
        what = (
            "a latency is no bandwidth: run ib_write_bw for one"
            if _LATENCY.search(text)
            else "no line #bytes #iterations BW peak"
        )
        raise NoTable(f"this is no table of ib_write_bw: {what}")
    return tuple(one for one in found if one.rates)
