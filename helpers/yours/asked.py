"""Is my number good? What a text or a result is, and the verdict on it. Chapter: yours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
    nccl_tests_tables,
    parse_debug_log,
    parse_flight_recorder,
    parse_kineto,
    parse_topo,
)
from helpers.nccl.output.tables.fits import WORD
from helpers.plain_gzip import GZIP, GzipError, unfolded
from helpers.records import RecordError
from helpers.units import bandwidth_text
from helpers.yours.causes import cause
from helpers.yours.curves import curve_of, curve_of_bench
from helpers.yours.dumps import of_dumps
from helpers.yours.logs import of_log
from helpers.yours.places import Place, told_place
from helpers.yours.run.checked import of_run
from helpers.yours.snapshots import of_snapshot
from helpers.yours.tables import of_table
from helpers.yours.topologies import of_topology
from helpers.yours.traces import of_traces
from helpers.yours.verdict import Verdict, refusal

KNOWN = (
    "nothing that is known here: expected a table of nccl-tests, the output of nvidia-smi topo -m, a log of NCCL_DEBUG=INFO,"
    " dumps of torch's flight recorder, a trace of torch's profiler, a memory snapshot of PyTorch or a run of make gpu-check"
)
_AVERAGE = re.compile(r"(?:#? *Avg bus bandwidth *: *)?(\d{1,6}(?:\.\d{1,6})?) *(?:GB/s)?", re.IGNORECASE | re.ASCII)
_LOG = re.compile(r"NCCL (?:INFO|WARN|version)\b", re.ASCII)
_TABLE = re.compile(r"\balgbw\b|\bbusbw\b|^#? *nThread ", re.MULTILINE | re.ASCII)
# Of a table, perhaps without its head
_ROW = re.compile(rf"\b\d+[ \t]+\d+[ \t]+(?:{'|'.join(WORD)})[ \t]+\S", re.ASCII)
_MATRIX = re.compile(r"^[ \t]*GPU0[ \t]+(?:GPU1|X)\b|CPU Affinity", re.MULTILINE | re.ASCII)
_BLANK = " \t\r\n"
_DUMP = '"pg_config"'
_TRACE = '"traceEvents"'
_RUN = '"records"'
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
        return _of(text_or_result, told)
    except (
        TableError,
        TopologyError,
        DebugLogError,
        FlightRecorderError,
        KinetoError,
        SnapshotError,
        RecordError,
    ) as error:
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
    """By what only such a text has; a table that stands in a log counts as the table that it is."""
    if text.lstrip(_BLANK).startswith("{") and _TRACE in text:
        return of_traces([parse_kineto(text)], told)
    if text.lstrip(_BLANK).startswith(("{", "[")) and _DUMP in text:
        return of_dumps(parse_flight_recorder([text]))
    if text.lstrip(_BLANK).startswith("{") and _RUN in text:
        return of_run(text, told)
    if text.lstrip(_BLANK).startswith("{") or _TABLE.search(text) or _ROW.search(text):
        return _of_tables(text, told)
    if _MATRIX.search(text):
        return of_topology(parse_topo(text))
    if _LOG.search(text):
        return of_log(parse_debug_log(text))
    if found := _AVERAGE.fullmatch(text.strip(_BLANK)):
        return _average(float(found[1]) * 1e9)
    return refusal(KNOWN)


def _of_tables(text: str, told: Place | None) -> Verdict:
    """The first table of several; where there is none but a log, the log."""
    try:
        table, *more = nccl_tests_tables(text)
    except TableError:
        if _LOG.search(text) and not re.search(r"\balgbw\b", text, re.ASCII):
            return of_log(parse_debug_log(text))
        raise
    found = of_table(curve_of(table), told)
    return found if not more or found.refused else _first(found, len(more) + 1)


def _first(found: Verdict, count: int) -> Verdict:
    return Verdict(**{**vars(found), "what": f"{found.what}; the first of {count} tables: give the others alone"})


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
    if data[:1] == b"\x80":
        return of_snapshot(read_snapshot(data))
    try:
        return _of_text(data.decode(), told)
    except UnicodeDecodeError:
        return refusal(KNOWN)


def _average(busbw: float) -> Verdict:
    why = (
        f"{bandwidth_text(busbw)} alone says nothing: an average over sizes is low where many of them are small, whatever the"
        " machine; the whole table is needed, or its largest size, the collective and the number of GPUs"
    )
    said = f"{why[:1].upper()}{why[1:]}."
    return Verdict("nccl-tests", "an average, or a number alone", said, causes=(cause("average", why, accuses=True),))
