"""A trace as data: from a path, a text or bytes, plain or packed by gzip. Chapter: yours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helpers.nccl.output.traces.kineto_checks import Digits, KinetoError
from helpers.plain_gzip import GZIP, GzipError, unfolded
from helpers.plain_json import TooDeep, read_json

LONGEST = 256 << 20  # bytes of the text; a step of a large model with its stacks is some tens of MiB
QUOTED = 60  # letters before what is wrong
MOST_DIGITS = 4300  # Python's own limit
ENDS = (".json", ".json.gz")


def data_of(source: str | bytes | Path) -> Mapping[str, Any]:
    """The dict of a trace. A text that ends as a file's name does is one. KinetoError for what is no trace, OSError for no file."""
    data = _json(_text(_opened(source)))
    if not isinstance(data, Mapping) or "traceEvents" not in data:
        raise KinetoError("no trace of torch's profiler: expected a dict with 'traceEvents'")
    return data


def _opened(source: object) -> str | bytes:
    if isinstance(source, str) and "\n" not in source and source.endswith(ENDS):
        source = Path(source)
    if isinstance(source, Path):
        return source.read_bytes()
    if not isinstance(source, (str, bytes, bytearray)):
        raise KinetoError(f"expected a path, a text or bytes, got {type(source).__name__}")
    return source if isinstance(source, str) else bytes(source)


def _text(source: str | bytes) -> str:
    if isinstance(source, bytes) and source.startswith(GZIP):
        source = _unpacked(source)
    if len(source) > LONGEST:
        raise KinetoError(f"the trace is longer than {LONGEST} bytes: trace fewer steps")
    try:
        return source if isinstance(source, str) else source.decode()
    except UnicodeDecodeError:
        raise KinetoError("not JSON: these bytes are no text in UTF-8") from None


def _unpacked(packed: bytes) -> bytes:
    try:
        return unfolded(packed, LONGEST)
    except GzipError as error:
        raise KinetoError(f"the file is {error}") from None


def _json(text: str) -> object:
    """Where it is broken is told by what stands before: Python's own words for it are others in every version."""
    try:
        return read_json(text, parse_int=_whole, parse_float=Digits, parse_constant=Digits)
    except json.JSONDecodeError as error:
        before = error.doc[: error.pos].rstrip(" \t\r\n,")
        raise KinetoError(f"not JSON behind letter {len(before)}, {before[-QUOTED:]!r}") from None
    except TooDeep as error:
        raise KinetoError(f"the trace {error}") from None


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise KinetoError(f"a number of {len(digits)} digits, expected at most {MOST_DIGITS}")
    return int(digits)
