"""The JSON that nccl-tests writes with -J, from 2.17.3 on. Chapter: benchmarking.

Its keys, and that numbers are written with "%lf", root as a text and booleans as texts: src/util.cu of nccl-tests at a0b82b2
(JSON_FILE_VERSION 3). What of it names files, hosts or variables of a machine (args, env) is not read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from helpers.nccl.output.tables.cleaned import Line
from helpers.nccl.output.tables.errors import TableError
from helpers.nccl.output.tables.fits import REDOPS, WORD, Numbers, RawRow
from helpers.nccl.output.tables.header import Facts, NcclDevice, NcclSettings, program_of, version_of
from helpers.nccl.output.tables.printed import Printed, printed
from helpers.nccl.output.tables.tables import NcclTable, Rows

_COLUMNS = ("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong")
_SETTINGS = ("nthreads", "ngpus", "minimum_bytes", "maximum_bytes")
_ITERS = ("warmup_iters", "iterations", "aggregated_iterations", "validation", "graph")


def report(text: str) -> NcclTable:
    """The one table of a report. A row's line is its place in `results`, from 1 on."""
    try:
        told = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
    except json.JSONDecodeError as wrong:
        where = Line(wrong.lineno, "", text.splitlines()[min(wrong.lineno, len(text.splitlines())) - 1])
        raise TableError(f"this begins as JSON and is none: {wrong.msg}", where) from None
    except RecursionError:
        raise TableError("this begins as JSON and is nested too deeply for a report of nccl-tests") from None
    if not isinstance(told, dict) or not isinstance(told.get("results"), list):
        raise TableError("this is no report of nccl-tests -J: it has no list of results")
    return _table(told)


def _table(told: Mapping[str, Any]) -> NcclTable:
    facts = _facts(told)
    timed = not any("cpu_time" in json.dumps(row) for row in told["results"])
    rows = Rows(Line(1, "", ""), _COLUMNS, facts, timed)
    for place, one in enumerate(told["results"], start=1):
        rows.add(_row(one, Line(place, "", json.dumps(one), "result")))
    if "out_of_bounds" in told:
        end = Line(1, "", json.dumps(told["out_of_bounds"]), "out_of_bounds, table")
        count, okay = _whole(told["out_of_bounds"], "count", end), _of(told["out_of_bounds"], "okay", end)
        rows.bounds(count, "OK" if okay == "true" else "FAILED", end)
    if "average_bus_bandwidth" in told:
        end = Line(1, "", json.dumps(told["average_bus_bandwidth"]), "average_bus_bandwidth, table")
        rows.mean(_number(told["average_bus_bandwidth"], "bandwidth", end), end)
    return rows.table()


def _facts(told: Mapping[str, Any]) -> Facts:
    """With one process a report names its first GPU alone, with several the first of each: so ranks are counted by process."""
    line = Line(
        1,
        "",
        json.dumps({key: told[key] for key in ("version", "nccl_version", "config") if key in told}),
        "config, table",
    )
    facts, config = Facts(), told.get("config")
    if "nccl_version" in told:
        facts.nccl = version_of(_whole(told, "nccl_version", line))
    args = told.get("args")
    if isinstance(args, list) and args and isinstance(args[0], str):
        facts.program = program_of(args[0].replace("\\", "/").rsplit("/", 1)[-1], line)
    if isinstance(config, dict):
        facts.settings = _settings(config, line)
        devices = config.get("devices", [])
        for one in devices if isinstance(devices, list) else []:
            device = _device(one, line)
            facts.devices[device.group, device.rank] = device, line
        if facts.devices and len({group for group, _ in facts.devices}) == 1:
            facts.ranks = len(facts.devices) * facts.settings.nthreads * facts.settings.ngpus
    return facts


def _settings(config: Mapping[str, Any], line: Line) -> NcclSettings:
    factor = "step_factor" in config
    threads, gpus, low, high = (_whole(config, key, line) for key in _SETTINGS)
    step = _whole(config, "step_factor" if factor else "step_bytes", line)
    warmup, iters, *later = (_whole(config, key, line) for key in _ITERS)
    return NcclSettings(threads, gpus, low, high, step, factor, warmup, iters, *later)


def _device(one: object, line: Line) -> NcclDevice:
    rank, group, pid, device = (_whole(one, key, line) for key in ("rank", "group", "pid", "device"))
    host, bus, name = (str(_of(one, key, line)) for key in ("hostname", "device_hex", "device_info"))
    return NcclDevice(rank, group, pid, host, device, bus, name)


def _row(one: object, line: Line) -> RawRow:
    dtype, redop = _of(one, "type", line), _of(one, "redop", line)
    if dtype not in WORD or redop not in (*REDOPS, "none", ""):
        raise TableError(f"no type and operation of nccl-tests: {dtype!r}, {redop!r}", line)
    root = str(_of(one, "root", line)).strip()
    if root != "-1" and not root.isdigit():
        raise TableError(f"root is a rank, or -1 where there is none, got {root!r}", line)
    halves = _half(_of(one, "out_of_place", line), line), _half(_of(one, "in_place", line), line)
    if halves == (None, None):
        raise TableError("a result has times out of place, in place or both", line)
    size, count = _whole(one, "size", line), _whole(one, "count", line)
    return RawRow(line, size, count, dtype, redop if redop in REDOPS else None, int(root), halves)


def _half(one: object, line: Line) -> Numbers | None:
    if one is None:
        return None
    time = _number(one, "cpu_time" if isinstance(one, dict) and "cpu_time" in one else "time", line)
    wrong = None if _of(one, "nwrong", line) is None else _number(one, "nwrong", line).value
    whole = None if wrong is None else int(wrong)
    return Numbers(time, _number(one, "alg_bw", line), _number(one, "bus_bw", line), whole, None)


def _of(one: object, key: str, line: Line) -> Any:
    if not isinstance(one, dict) or key not in one:
        raise TableError(f"{key!r} is missing", line)
    return one[key]


def _number(one: object, key: str, line: Line) -> Printed:
    told = _of(one, key, line)
    number = printed(told) if isinstance(told, str) else None
    if number is None:
        raise TableError(f"{key} is a number that is not negative, got {told!r}", line)
    return number


def _whole(one: object, key: str, line: Line) -> int:
    told = _of(one, key, line)
    if not (isinstance(told, str) and told.isascii() and told.isdigit() and len(told) <= 18):
        raise TableError(f"{key} is a whole number, got {told!r}", line)
    return int(told)
