"""The verdict on what NCCL finds about a machine itself, since 2.31, with NCCL_RUN_DIAGNOSTICS=1. Chapter: yours.

Texts: those of the libraries 2.31.2 and 2.32.3, and NVIDIA's user guide on diagnostics. Its network test is ib_write_bw between neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from helpers.nccl.output.tables.errors import NoTable
from helpers.yours.causes import cause
from helpers.yours.places import Place
from helpers.yours.verdict import CLEAN, Cause, Verdict

SIGN = "NCCL DIAG "
LINE = re.compile(r"NCCL DIAG (?:\[(?P<tag>OK|INFO)\] *)?(?P<said>[^\n]+)", re.ASCII)
PEERS = re.compile(r"p2p: (?:only )?(\d{1,9})/(\d{1,9}) (?:GPU-to-GPU|directed)", re.ASCII)
PAIR = re.compile(r"p2p: (?:(?:read|write) mismatch|(?:launch/check|peer-memory import) failed)")
RATE = r"(\d{1,9}(?:\.\d{1,9})?)"
RATES = re.compile(rf"net bw: {RATE}/{RATE}/{RATE} Gbit/s min/median/max (\S+) bw \(across (\d{{1,9}})", re.ASCII)
OFF = re.compile(
    rf"net bw: (\S+) rank (\d{{1,9}}) \(([^)\n]*)\): {RATE} Gbit/s, >30% off median {RATE}(?![\d.]*\d)", re.ASCII
)


def of_diagnostics(text: str, told: Place | None = None) -> Verdict:
    """A pair of GPUs that read or wrote other bytes is accused, and a rank whose network is slow; what could not be tried is a remark."""
    found = [(one["tag"], one["said"]) for one in LINE.finditer(text)]
    if not any(tag for tag, _ in found):
        raise NoTable("NCCL's own diagnostics without a line of [OK] or [INFO]: give all that begins with NCCL DIAG")
    said = [line for tag, line in found if tag]
    rates = [
        f"{low} to {high} Gbit/s, in the middle {middle}, {mode} among {ranks} ranks"
        for line in said
        for low, middle, high, mode, ranks in RATES.findall(line)
    ]
    p2p = next(
        (f"{done} of {all_} accesses between GPUs are right" for line in said for done, all_ in PEERS.findall(line)), ""
    )
    whole = "all pairs of GPUs reach each other" if any("between every GPU pair" in line for line in said) else p2p
    sentence = "; ".join([part for part in (whole, *rates) if part]) or "It says what could not be tried"
    causes = tuple(_causes([line for tag, line in found if tag == "INFO"]))
    return Verdict("machine", "NCCL's own diagnostics", f"{sentence[:1].upper()}{sentence[1:]}.", CLEAN, causes=causes)


def _causes(notes: list[str]) -> Iterator[Cause]:
    pairs = [line for line in notes if PAIR.match(line)]
    short = [line for line in notes if PEERS.match(line) and len(set(PEERS.findall(line)[0])) > 1]
    if pairs or short:
        yield cause("no P2P", f"{(pairs or short)[0][:300]}{_more(pairs)}")
    off = [one for line in notes for one in OFF.findall(line)]
    slow = [
        f"rank {rank} on {host}: {rate} of {middle} Gbit/s ({mode})"
        for mode, rank, host, rate, middle in off
        if float(rate) < float(middle)
    ]
    if slow:
        yield cause("slow rail", f"{slow[0][:300]}{_more(slow)}")
    rest = [
        line for line in notes if not (PAIR.match(line) or PEERS.match(line) or RATES.match(line) or OFF.match(line))
    ]
    if rest:
        yield cause("warning", f"not tried, or not to its end: {rest[0][:300]}{_more(rest)}", accuses=False)


def _more(lines: list[str]) -> str:
    return f"; and {len(lines) - 1} more" if len(lines) > 1 else ""
