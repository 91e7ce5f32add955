"""Whether a file of recorded/ is whole: read strictly, every field there, of its type, and no other. Page: recorded-runs.

A file that is damaged is a RecordError with its name and the place in it, `data.all_reduce.3.busbw`, what was expected and what is there.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helpers.records.fields import Bad, text_without_paths
from helpers.records.kinds import faults, memory, predicted, published, run
from helpers.records.labs import lab
from helpers.records.traces import trace

KINDS: dict[str, Callable[[Any, str], None]] = {  # in the order of the page
    "run": run,
    "lab": lab,
    "memory": memory,
    "reader": run,
    "predicted": predicted,
    "published": published,
    "trace": trace,
    "faults": faults,
}
FOLDERS = {
    "public": "published",
    "labs": "lab",
    "memory": "memory",
    "mutants": "faults",
    "from": "reader",
    "traces": "trace",
}
ENDS = ".json", ".jsonl", ".json.gz"


class RecordError(ValueError):
    """A recorded file is not whole. The message names the file and the place."""


def kind_of(place: Path) -> str:
    """place: under recorded/, as `from/8xh200/gpu-bandwidth.json`: a key of KINDS."""
    if len(place.parts) == 1:
        return "predicted" if place.stem == "memory-predictions" else "run"
    if place.parts[0] not in FOLDERS:
        raise RecordError(f"{place.as_posix()}: a folder of recorded/ is one of {', '.join(FOLDERS)}")
    kind = FOLDERS[place.parts[0]]
    return "lab" if kind == "reader" and place.parent.name == "labs" else kind


def whole(path: Path, folder: Path) -> Any:
    """What the file holds, if it is whole; RecordError else. folder: recorded/, or one like it."""
    place = path.relative_to(folder)
    kind = kind_of(place)
    check = memory if kind == "reader" and place.parent.name == "memory" else KINDS[kind]
    try:
        text = _text(path)
        text_without_paths(text)
        data = [_parsed(line) for line in text.splitlines()] if path.suffix == ".jsonl" else _parsed(text)
        check(data, path.name.partition(".")[0])
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise RecordError(f"{place.as_posix()}: packed by gzip and damaged") from None
    except UnicodeDecodeError as error:
        raise RecordError(f"{place.as_posix()}: no text in UTF-8 from byte {error.start} on") from None
    except json.JSONDecodeError as error:
        said = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise RecordError(f"{place.as_posix()}: no JSON: {said}") from None
    except (Bad, RecursionError) as error:
        raise RecordError(f"{place.as_posix()}: {error}") from None
    return data


def _text(path: Path) -> str:
    packed = path.read_bytes()
    return (gzip.decompress(packed) if path.suffix == ".gz" else packed).decode("utf-8")


def _parsed(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys come once: of two, JSON's reader would keep the last without a word."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise Bad(next(name for name in names if names.count(name) > 1), "comes twice")
    return found


def _no_number(constant: str) -> float:
    raise Bad(constant, "is no number of JSON")
