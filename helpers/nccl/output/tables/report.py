"""The JSON that nccl-tests writes with -J, from 2.17.3 on. Chapter: benchmarking.

Its keys, and that numbers are written with "%lf", root as a text and booleans as texts: src/util.cu of nccl-tests at a0b82b2
(JSON_FILE_VERSION 3). What of it names files, hosts or variables of a machine (args, env) is not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from helpers.nccl.output.tables.cleaned import Line
from helpers.nccl.output.tables.errors import TableError
from helpers.nccl.output.tables.fits import REDOPS, WORD, Numbers, RawRow
from helpers.nccl.output.tables.header import Facts, NcclDevice, NcclSettings, program_of, version_of
from helpers.nccl.output.tables.printed import DIGITS, Printed, printed
from helpers.nccl.output.tables.tables import NcclTable, Rows
from helpers.plain_json import TooDeep, read_json

_COLUMNS = ("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong")
_RANKS, _BYTES = ("nthreads", "ngpus"), ("minimum_bytes", "maximum_bytes")
_ROOT = re.compile(r" *(-1|\d{1,9}) *", re.ASCII)
_DEEPEST = 20  # levels of lists and objects; a report has five
_QUOTED = 60  # letters
_MOST_RANKS = 6  # digits of a number of threads, and of GPUs of each
_ITERS = ("warmup_iters", "iterations", "aggregated_iterations", "validation", "graph")


def report(text: str) -> NcclTable:
    """The one table of a report. A row's line is its place in `results`, from 1 on. text: as `spaced` gives it."""
    told = _loaded(text)
    if not isinstance(told, dict) or not isinstance(told.get("results"), list) or not told["results"]:
        raise TableError("this is no report of nccl-tests -J: it has no list of results")
    return _table(told)


def _loaded(text: str) -> Any:
    """What the JSON holds, numbers as they are written. nccl-tests writes all of it in one line: an error quotes what stands before it."""
    try:
        return read_json(text, _DEEPEST, parse_float=str, parse_int=str, parse_constant=str)
    except json.JSONDecodeError as wrong:
        before = text[: wrong.pos].rstrip(" ,\n")  # a comma too many is told in two places by two versions of Python
        where = Line(before.count("\n") + 1, "", before[-_QUOTED:])
        raise TableError("this begins as JSON and is none from behind these words on", where) from None
    except TooDeep as error:
        raise TableError(f"this begins as JSON and {error}: a report of nccl-tests has five") from None


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
    threads, gpus = (_whole(config, key, line, _MOST_RANKS) for key in _RANKS)
    low, high = (_whole(config, key, line) for key in _BYTES)
    step = _whole(config, "step_factor" if factor else "step_bytes", line)
    warmup, iters, *later = (_whole(config, key, line) for key in _ITERS)
    return NcclSettings(threads, gpus, low, high, step, factor, warmup, iters, *later)


def _device(one: object, line: Line) -> NcclDevice:
    rank, group, pid, device = (_whole(one, key, line) for key in ("rank", "group", "pid", "device"))
    host, bus, name = (str(_of(one, key, line)) for key in ("hostname", "device_hex", "device_info"))
    return NcclDevice(rank, group, pid, host, device, bus, name)


def _row(one: object, line: Line) -> RawRow:
    dtype, redop = _of(one, "type", line), _of(one, "redop", line)
    if not isinstance(dtype, str) or dtype not in WORD or redop not in (*REDOPS, "none", ""):
        raise TableError(f"no type and operation of nccl-tests: {dtype!r}, {redop!r}", line)
    root = _of(one, "root", line)
    if not isinstance(root, str) or not _ROOT.fullmatch(root):
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
    wrong = None if _of(one, "nwrong", line) is None else _number(one, "nwrong", line)
    if wrong and wrong.value != int(wrong.value):
        raise TableError(f"nwrong counts elements, got {wrong.text!r}", line)
    count = None if wrong is None else int(wrong.value)
    return Numbers(time, _number(one, "alg_bw", line), _number(one, "bus_bw", line), count, None)


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


def _whole(one: object, key: str, line: Line, digits: int = DIGITS) -> int:
    told = _of(one, key, line)
    if not (isinstance(told, str) and told.isascii() and told.isdigit() and len(told) <= digits):
        raise TableError(f"{key} is a whole number of at most {digits} digits, got {told!r}", line)
    return int(told)
