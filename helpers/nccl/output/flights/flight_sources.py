"""A dump of the flight recorder as data: from a pickle, from JSON, or as it is. Chapter: hangs."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from helpers.nccl.output.flights.flight_checks import FlightRecorderError
from helpers.plain_json import TooDeep, read_json
from helpers.plain_pickle import DEEPEST, NotPlain, check_depth, load_plain

LONGEST = 64 << 20  # bytes of one dump; 2,000 operations with their stacks are some 4 MiB
LONGEST_LITERAL = 4 << 20  # of one that Python printed
QUOTED = 60  # letters before what is wrong
_ROUND = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|,\s{0,9}\)|[()]'
)  # as torch's documentation prints a group: ("0", "default_pg")
MOST_DIGITS = 4300  # Python's own limit


def data_of(source: object) -> Mapping[str, Any]:
    """A pickle's bytes, JSON or Python's print of a dump as text or bytes, or what these hold. FlightRecorderError for what is no dump."""
    try:
        if isinstance(source, (bytes, bytearray, str)):
            source = _loaded(source)
        check_depth(source)
    except NotPlain as error:
        raise FlightRecorderError(f"the dump {error}" if "not a pickle" not in str(error) else str(error)) from None
    if not isinstance(source, Mapping) or "version" not in source or not {"pg_config", "entries"} & source.keys():
        raise FlightRecorderError(
            "no dump of the flight recorder: expected a dict with 'version', 'pg_config' and 'entries'"
        )
    return source


def _loaded(source: bytes | bytearray | str) -> object:
    if isinstance(source, str) or source.lstrip()[:1] == b"{":
        if len(source) > LONGEST:
            raise NotPlain(f"is longer than {LONGEST} bytes: {len(source)}")
        return _json(source)
    return load_plain(bytes(source), LONGEST)


def _json(source: bytes | bytearray | str) -> object:
    """What is wrong in it is told by the words before: Python's own words for it are others in every version."""
    try:
        text = source if isinstance(source, str) else source.decode()
        if text.lstrip()[1:].lstrip()[:1] == "'":
            return _printed(text)
        return read_json(text, DEEPEST, parse_int=_whole_number)
    except json.JSONDecodeError as error:
        if "(" in error.doc and (bare := _ROUND.sub(_squared, error.doc)) != error.doc:
            return _json(bare)
        before = error.doc[: error.pos].rstrip(" \t\r\n,")
        raise FlightRecorderError(f"not JSON from behind {before[-QUOTED:]!r} on") from None
    except UnicodeDecodeError:
        raise FlightRecorderError("not JSON: these bytes are no text in UTF-8") from None
    except TooDeep as error:
        raise NotPlain(str(error)) from None


def _squared(found: re.Match[str]) -> str:
    """Of Python's brackets JSON's, outside strings."""
    return {"(": "[", ")": "]"}.get(found[0][-1], found[0])


def _printed(text: str) -> object:
    """{'version': '2.10', ...}: what print or pprint makes of a dump that was unpickled. Nothing in it is called."""
    if len(text) > LONGEST_LITERAL:
        raise NotPlain(f"is longer than {LONGEST_LITERAL} letters: {len(text)}; give the file itself")
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise FlightRecorderError("not what Python prints of a dump: cut off, or not data only") from None


def _whole_number(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise FlightRecorderError(f"a number of {len(digits)} digits, expected at most {MOST_DIGITS}")
    return int(digits)
