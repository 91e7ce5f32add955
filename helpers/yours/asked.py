"""Is my number good? What a text or a result is, and the verdict on it. Chapter: yours."""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helpers.collector import waiting
from helpers.facts import Machine
from helpers.memory.snapshot import Snapshot, SnapshotError
from helpers.memory.snapshot import read as read_snapshot
from helpers.nccl import (
    DebugLog,
    DebugLogError,
    FlightRecord,
    FlightRecorderError,
    KinetoError,
    KinetoTrace,
    NcclTable,
    TableError,
    Topology,
    TopologyError,
    parse_flight_recorder,
    parse_kineto,
)
from helpers.nccl.output.machine.amd import parse_amd_json
from helpers.nccl.output.machine.copies import parse_copies_json
from helpers.nccl.output.tables.cleaned import cleaned, spaced, unwrapped
from helpers.nccl.output.tables.errors import MachineError, NoTable
from helpers.plain_gzip import GZIP, GzipError, unfolded
from helpers.records import RecordError
from helpers.yours.files.dumps import of_dumps
from helpers.yours.files.snapshots import of_snapshot
from helpers.yours.files.traces import of_traces
from helpers.yours.forms import FORMS
from helpers.yours.joined import concluded, joined
from helpers.yours.logs.judged import of_log, without_rows
from helpers.yours.machine.copies import judged
from helpers.yours.machine.topologies import of_topology
from helpers.yours.places import Place, told_place
from helpers.yours.run.checked import of_run
from helpers.yours.tables.curves import curve_of, curve_of_bench
from helpers.yours.tables.judged import of_table
from helpers.yours.verdict import Verdict, refusal

FILES = "dumps of torch's flight recorder, a trace of torch's profiler, a memory snapshot of PyTorch or a run of make gpu-check"
KNOWN = f"nothing that is known here: expected {', '.join(form.name for form in FORMS)}, {FILES}"
REFUSALS = (
    TableError,
    TopologyError,
    MachineError,
    DebugLogError,
    FlightRecorderError,
    KinetoError,
    SnapshotError,
    RecordError,
)
PICKLE = b"\x80"
_DOUBLED = re.compile(r"\n *\n")
_BLANK = " \t\r\n"
_DUMP = "pg_config"
_TRACE = '"traceEvents"'
_RUN = '"records"'
_AMD = '"link_type"'
_COPIES = '"nvbandwidth"'
_SHORT = 1 << 20  # letters
_MOST = 256 << 20  # bytes that a packed file unfolds into


@waiting()
def is_my_number_good(text_or_result: Any, machine: str | Machine | None = None) -> Verdict:
    """What it is, how good it is, and the likely causes.

    text_or_result: text; the bytes of a file, perhaps packed by gzip; {rank: dump} or a list of dumps or of traces, one a rank; an
    NcclTable, Topology, DebugLog, FlightRecord, KinetoTrace or Snapshot; or a result of helpers.ranks' bench (rows with nbytes,
    seconds, busbw). machine: a key of helpers.facts.MACHINES or one of them; None to go by what the text tells. What can not be read
    is a Verdict of kind "refused" that says why. KeyError for a machine that is not there, TypeError for a thing of another type.
    """
    told = None if machine is None else told_place(machine)
    try:
        return concluded(_of(text_or_result, told))
    except REFUSALS as error:
        return refusal(str(error))


def _of(thing: Any, told: Place | None) -> Verdict:
    if isinstance(thing, str):
        return _of_text(thing, told)
    if isinstance(thing, (bytes, bytearray)):
        return _of_bytes(bytes(thing), told)
    if isinstance(thing, NcclTable):
        return of_table(curve_of(thing), told)
    if isinstance(thing, Topology):
        return of_topology(thing)
    if isinstance(thing, DebugLog):
        return of_log(thing)
    if isinstance(thing, FlightRecord):
        return of_dumps(thing)
    if isinstance(thing, Snapshot):
        return of_snapshot(thing)
    if isinstance(thing, KinetoTrace):
        return of_traces([thing], told)
    if isinstance(thing, (Mapping, list, tuple)):
        return _of_several(thing, told)
    if hasattr(thing, "rows"):
        return of_table(curve_of_bench(thing), told)
    raise TypeError(f"a text, bytes, dumps by rank or a result with rows is needed, got {type(thing).__name__}")


def _of_several(thing: Mapping[Any, Any] | Sequence[Any], told: Place | None) -> Verdict:
    """Traces where the first of them is one, else dumps: of each rank one."""
    parts = list(thing.values()) if isinstance(thing, Mapping) else list(thing)
    if parts and isinstance(parts[0], KinetoTrace):
        return of_traces(parts, told)
    if parts and _is_trace(parts[0]):
        return of_traces([parse_kineto(part) for part in parts], told)
    return of_dumps(parse_flight_recorder(thing))


def _is_trace(part: object) -> bool:
    """Only a trace has that key, and only a trace comes packed. A trace names its groups in the words of a dump."""
    if isinstance(part, (bytes, bytearray)):
        return part.startswith(GZIP) or _TRACE.encode() in part
    return isinstance(part, str) and _TRACE in part


def _of_text(text: str, told: Place | None) -> Verdict:
    """JSON by its first keys; else every form that stands in the text."""
    plain = spaced(text)
    text = unwrapped(plain, sure=True)
    if text.lstrip(_BLANK).startswith("{") and _TRACE in text:
        return of_traces([parse_kineto(text)], told)
    if text.lstrip(_BLANK).startswith(("{", "[")) and _DUMP in text:
        return of_dumps(parse_flight_recorder([text]))
    if text.lstrip(_BLANK).startswith("{") and _RUN in text:
        return of_run(text, told)
    if text.lstrip(_BLANK).startswith("[") and _AMD in text:
        return of_topology(parse_amd_json(text))
    if text.lstrip(_BLANK).startswith("{") and _COPIES in text:
        return judged(parse_copies_json(text), told)
    found = _of_forms(text, told)
    others = (_of_forms(other, told) for other in _mended(plain) if found.refused and other != text)
    return next((other for other in others if not other.refused), found)


def _mended(text: str) -> Iterator[str]:
    """The text as it may have been before it was copied: lines whole, single spaced, without prefixes."""
    if len(text) < _SHORT:
        yield from (unwrapped(text), unwrapped(text, short=1))
        yield _DOUBLED.sub("\n", text)
        yield "\n".join(line.text for line in cleaned(text))


def _of_forms(text: str, told: Place | None) -> Verdict:
    """All that stands in the text, joined. The first that tells anything has to be whole; what follows it is left out where it is not."""
    read: list[Verdict] = []
    why, headed = KNOWN, False
    for form in FORMS:
        if not form.sign.search(text):
            continue
        try:
            found = form.judge(text, told)
        except NoTable as error:
            why, headed = str(error), error.line is not None
            continue
        except REFUSALS as error:
            found = refusal(str(error))
        if not read and found.refused:
            return found
        found = without_rows(found) if headed and found.kind == "log" else found
        read += [] if found.refused else [found]
    return joined(read) if read else refusal(why)


def _of_bytes(data: bytes, told: Place | None) -> Verdict:
    """A pickle, or a file of text, perhaps packed."""
    if data.startswith(GZIP):
        try:
            data = unfolded(data, _MOST)
        except GzipError as error:
            return refusal(f"the file is {error}")
    if _is_trace(data):
        return of_traces([parse_kineto(data)], told)
    if b"pg_config" in data:
        return of_dumps(parse_flight_recorder([data]))
    if data.startswith(PICKLE):
        return of_snapshot(read_snapshot(data))
    return _of_text(text_of(data), told)


def text_of(data: bytes) -> str:
    """A file's text, in UTF-8 or, as PowerShell redirects it, UTF-16; what is neither is replaced."""
    wide = data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    return data.decode("utf-16" if wide else "utf-8-sig", "replace")
