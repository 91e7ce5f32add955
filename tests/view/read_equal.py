"""Python's answers and JavaScript's as one kind of plain data, and one node process for many cases."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

SAFE = 2**53 - 1
SCRIPT = Path(__file__).with_name("play_read.mjs")


def plain(value: object) -> Any:
    """As the modules hand it out: rows as objects, tuples as arrays, whole numbers beyond 2^53 by their digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) <= SAFE else {"whole": str(value)}
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else " ".join(map(str, several(key))): plain(v) for key, v in value.items()}
    return [plain(one) for one in value] if isinstance(value, (tuple, list)) else value


def several(key: object) -> tuple[object, ...]:
    return key if isinstance(key, tuple) else (key,)


def numbers(value: Any) -> Any:
    """What JavaScript has answered, its numbers as floats."""
    if isinstance(value, dict):
        return {key: numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return [numbers(one) for one in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def answer(read: Callable[[Any], object], case: object, refused: type[Exception]) -> dict[str, Any]:
    try:
        return {"value": plain(read(case))}
    except refused as error:
        return {"refused": str(error)}


def played(node: str, tmp_path: Path, kind: str, cases: Sequence[object]) -> list[Any]:
    """JavaScript's answers to the cases: texts, bytes, or dumps by rank."""
    path = tmp_path / f"{kind}.json"
    path.write_text(json.dumps([carried(case) for case in cases]), encoding="utf-8")
    done = subprocess.run([node, SCRIPT, kind, path], capture_output=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return [numbers(json.loads(line)) for line in done.stdout.decode().splitlines()]


def carried(case: object) -> object:
    if isinstance(case, dict):
        return {"dumps": [[rank, carried(one)] for rank, one in case.items()]}
    return {"bytes": base64.b64encode(case).decode()} if isinstance(case, (bytes, bytearray)) else case


def unequal(mine: Sequence[Any], theirs: Sequence[Any]) -> list[Any]:
    """The first cases, by number, of which the two say something else; a bool is no number here."""
    assert len(mine) == len(theirs)
    pairs = enumerate(zip(mine, theirs, strict=True))
    return [(k, *both) for k, both in pairs if len({json.dumps(one, sort_keys=True) for one in both}) > 1][:3]
