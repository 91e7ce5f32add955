"""Recorded traces of torch's profiler, one rank's each, packed (helpers.parallel.profiled writes them). Page: recorded-runs."""

from __future__ import annotations

import json
from typing import Any

from helpers.nccl import KinetoError, parse_kineto
from helpers.records.fields import Bad, expected, fields, text
from helpers.records.kinds import ABOUT

MOST_LETTERS = 4 << 20
_ABOUT = fields({"what": text, **ABOUT})


def trace(data: Any, stem: str) -> None:
    """A trace that says what it is, of the rank that its name ends with, and with a step; nothing in it names a host."""
    if not isinstance(data, dict) or "recorded" not in data:
        raise Bad("", "the field 'recorded' is missing")
    _ABOUT(data["recorded"], "recorded")
    if "host_name" in data or "traceName" in data:
        raise Bad("", "names a host or a folder of somebody's machine")
    words = json.dumps(data)
    if len(words) > MOST_LETTERS:
        raise expected(f"at most {MOST_LETTERS} letters", len(words), "")
    try:
        read = parse_kineto(words)
    except KinetoError as error:
        raise Bad("", f"no trace: {error}") from None
    if not stem.endswith(f"-{read.rank}"):
        raise expected(f"the rank of its name, {stem!r}", read.rank, "distributedInfo.rank")
    if not read.steps:
        raise Bad("traceEvents", "no step of the profiler is marked")
