"""The forms of text that a reader pastes, each by what only such a text has. Several may stand in one paste. Chapter: yours."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, Protocol

from helpers.nccl import parse_debug_log
from helpers.nccl.output.machine.amd import SIGN as AMD
from helpers.nccl.output.machine.amd import TABLE as ROCM
from helpers.nccl.output.machine.copies import SIGN as COPIES
from helpers.nccl.output.machine.perftest import SIGN as WIRES
from helpers.nccl.output.machine.ports import SIGN as PORTS
from helpers.nccl.output.machine.smi import LINKS, QUERY
from helpers.nccl.output.machine.smi import TABLE as SMI
from helpers.nccl.output.tables.cleaned import unwrapped
from helpers.nccl.output.tables.errors import NoTable
from helpers.nccl.output.tables.fits import WORD
from helpers.yours.files.summaries import SIGN as SUMMARY
from helpers.yours.files.summaries import of_summary
from helpers.yours.logs.judged import of_log
from helpers.yours.logs.warned import LOG, ErrorSign, of_errors
from helpers.yours.machine.copies import of_copies
from helpers.yours.machine.diagnosed import SIGN, of_diagnostics
from helpers.yours.machine.gpus import SIGN as FAILED
from helpers.yours.machine.gpus import of_failure, of_rocm
from helpers.yours.machine.gpus import of_table as of_smi
from helpers.yours.machine.network import of_ports, of_wires
from helpers.yours.machine.queries import of_links, of_queries
from helpers.yours.machine.topologies import of_topologies
from helpers.yours.places import Place
from helpers.yours.tables.averages import AVERAGE, of_average
from helpers.yours.tables.several import of_tables
from helpers.yours.verdict import Verdict
from helpers.yours.words.exits import KEYS as ENDS
from helpers.yours.words.launcher import of_ends
from helpers.yours.words.room import of_memory
from helpers.yours.words.said import Words
from helpers.yours.words.singles import KEYS, of_singles
from helpers.yours.words.watchdog import of_watchdog
from helpers.yours.words.works import KEYS as WORKS


class Sign(Protocol):
    """A pattern, or what searches as one."""

    def search(self, string: str, /) -> object: ...


class Form(NamedTuple):
    """name: with its article, for whom nothing is known. sign: found in a text of this form, perhaps among others, and in no other.

    judge: the whole paste and the machine that the reader told, None where he told none; it passes over what is not of its form.
    """

    name: str
    sign: Sign
    judge: Callable[[str, Place | None], Verdict]


def _of_tables(text: str, told: Place | None) -> Verdict:
    """All tables of the text; an average where no row is left of one."""
    try:
        return of_tables(text, told)
    except NoTable:
        if AVERAGE.search(text):
            return of_average(text)
        raise


def _of_log(text: str) -> Verdict:
    log = parse_debug_log(text)
    whole = unwrapped(text) if log.damaged else text
    logs = [log] if whole == text else [log, parse_debug_log(whole)]
    return of_log(min(logs, key=lambda one: len(one.damaged)), text)


def _sign(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.MULTILINE | re.ASCII)


FORMS = (  # in the order in which a verdict on several of them tells them
    Form("an out-of-memory error of torch", Words("ut of memory"), lambda text, told: of_memory(text)),
    Form("a memory summary of PyTorch", SUMMARY, lambda text, told: of_summary(text)),
    Form("what torchrun or another launcher says of an end", Words(*ENDS), lambda text, told: of_ends(text)),
    Form("a time-out of torch's watchdog", Words(*WORKS), lambda text, told: of_watchdog(text)),
    Form("an error of torch.distributed", Words(*KEYS), lambda text, told: of_singles(text)),
    Form(
        "a table of nccl-tests",
        # A row may have lost its head.
        _sign(
            r"\balgbw\b|\bbusbw\b|^#? *nThread |^[ \t\r\n]*\{|Avg bus bandwidth",
            rf"\b\d+[ \t]+\d+[ \t]+(?:{'|'.join(WORD)})[ \t]+\S",
        ),
        _of_tables,
    ),
    Form(
        "the output of nvidia-smi topo -m",
        _sign(r"^[ \t]*GPU0[ \t]+(?:GPU1|X)\b|CPU Affinity", AMD.pattern),
        of_topologies,
    ),
    Form(
        "a log of NCCL_DEBUG=INFO",
        LOG,
        lambda text, told: _of_log(text),
    ),
    Form("an error of NCCL", ErrorSign(), lambda text, told: of_errors(text)),
    Form("the table of nvidia-smi", SMI, of_smi),
    Form("the table of rocm-smi", ROCM, of_rocm),
    Form("nvidia-smi -q", QUERY, of_queries),
    Form("nvidia-smi nvlink -s", LINKS, of_links),
    Form("what nvidia-smi says where it fails", FAILED, of_failure),
    Form("copies of p2pBandwidthLatencyTest or nvbandwidth", COPIES, of_copies),
    Form("NCCL's own diagnostics", Words(SIGN), of_diagnostics),
    Form("the ports of ibstat", PORTS, of_ports),
    Form("a table of ib_write_bw", WIRES, of_wires),
    Form(
        "a bandwidth",
        re.compile(r"\A[ \t\r\n]*\d{1,6}(?:\.\d{1,6})? *(?:GB/s)?[ \t\r\n]*\Z", re.IGNORECASE | re.ASCII),
        lambda text, told: of_average(text),
    ),
)
