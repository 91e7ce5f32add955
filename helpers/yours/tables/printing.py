"""A run as nccl-tests 2.17 and later prints it: for examples, and for tables with a fault that are made from published ones.

The format strings are those of writeDeviceReport, writeResultHeader and writeBenchmarkLineBody of nccl-tests at a0b82b2 (src/util.cu).
Chapter: yours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from helpers.nccl import Candidate, predict
from helpers.nccl.platforms import Described
from helpers.yours.tables.beside import seconds_of
from helpers.yours.tables.published import bus_factor

NAMES = {
    "A100": "NVIDIA A100-SXM4-80GB",
    "H100": "NVIDIA H100 80GB HBM3",
    "H200": "NVIDIA H200",
    "B200": "NVIDIA B200",
    "GB200": "NVIDIA GB200",
    "L40S": "NVIDIA L40S",
}
PER_RANK = ("all_gather", "reduce_scatter", "alltoall")
COLUMNS = ("time", "algbw", "busbw", "#wrong")
UNITS = ("(us)", "(GB/s)", "(GB/s)", "")


def printed(
    gpu: str,
    collective: str,
    nranks: int,
    version: str,
    seconds: Mapping[int, float],
    hosts: int = 1,
    tests: str = "2.17.9",
) -> str:
    """The whole text. gpu: of NAMES. version: of NCCL. seconds: by size in bytes, of one call; printed out of place and in place."""
    major, minor, patch = (*map(int, version.split(".")), 0)[:3]
    code = f"{major}{minor:02}{patch:02}"
    head = [
        f"# nccl-tests version {tests} nccl-headers={code} nccl-library={code}",
        f"# Collective test starting: {collective}_perf",
        f"# nThread 1 nGpus 1 minBytes {min(seconds)} maxBytes {max(seconds)} step: 2(factor) warmup iters: 1 iters: 20"
        " agg iters: 1 validation: 1 graph: 0",
        "#",
        "# Using devices",
    ]
    rows = [_row(collective, nranks, nbytes, took) for nbytes, took in seconds.items()]
    factor = bus_factor(collective, nranks) or 1.0
    mean = sum(nbytes / took / 1e9 * factor for nbytes, took in seconds.items()) / len(seconds)
    end = ["# Out of bounds values : 0 OK", f"# Avg bus bandwidth    : {mean:g} ", "#", ""]
    return "\n".join([*head, *_devices(gpu, nranks, hosts), *_columns(), *rows, *end])


def without(
    seconds: Mapping[int, float],
    collective: str,
    machine: Described,
    nranks: int,
    version: str,
    keeps: Callable[[Candidate], bool],
) -> dict[int, float]:
    """Times, each longer by what helpers.nccl.predict says that a setting costs at its size: the best of what is left over the choice."""
    made = {}
    for nbytes, took in seconds.items():
        lines = predict(collective, nbytes, machine, nranks, version).candidates
        made[nbytes] = took * seconds_of(next(line for line in lines if keeps(line))) / seconds_of(lines[0])
    return made


def _devices(gpu: str, nranks: int, hosts: int) -> list[str]:
    each = nranks // hosts
    return [
        f"#  Rank {rank:2} Group  0 Pid {9000 + rank:6} on     node-{rank // each} device {rank % each:2}"
        f" [0000:{6 + rank:02x}:00] {NAMES[gpu]}"
        for rank in range(nranks)
    ]


def _columns() -> list[str]:
    lines = []
    for head, words in (("size         count      type   redop    root", COLUMNS), ("(B)    (elements)", UNITS)):
        half = "".join(f"  {word:>{6 if at else 7}}" for at, word in enumerate(words))
        lines.append(f"# {'':5}{head:46}{half}{half}".rstrip())
    return lines


def _row(collective: str, nranks: int, nbytes: int, took: float) -> str:
    count = nbytes // 4 // (nranks if collective in PER_RANK else 1)
    redop = "none" if collective in ("all_gather", "alltoall") else "sum"
    algbw = nbytes / took / 1e9
    busbw = algbw * (bus_factor(collective, nranks) or 1.0)
    side = f"  {_short(took * 1e6, 7)}  {_short(algbw, 6)}  {_short(busbw, 6)}  {0:6}"
    return f"{nbytes:12}  {count:12}  {'float':>8}  {redop:>6}  {-1:6}{side}{side}"


def _short(value: float, width: int) -> str:
    """As many digits behind the point as the column has room for (getFloatStr)."""
    texts = (f"{value:{width}.{digits}f}" for digits in (2, 1, 0))
    return next((text for text in texts if len(text) <= width), f"{value:.{1 if width >= 7 else 0}e}")
