"""Whether a file of recorded/ is whole: read strictly, every field there, of its type, and no other. Page: recorded-runs.

A file that is damaged is a RecordError with its name and the place in it, `data.all_reduce.3.busbw`, what was expected and what is there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helpers.plain_gzip import GzipError, unfolded
from helpers.plain_json import TooDeep, read_json
from helpers.records.fields import Bad, expected, text_without_names
from helpers.records.kinds import memory, predicted, published, run
from helpers.records.labs import lab
from helpers.records.torches import torches
from helpers.records.traces import trace

KINDS: dict[str, Callable[[Any, str], None]] = {  # in the order of the page
    "run": run,
    "lab": lab,
    "torch": torches,
    "memory": memory,
    "reader": run,
    "predicted": predicted,
    "published": published,
    "trace": trace,
}
FOLDERS = {
    "public": "published",
    "labs": "lab",
    "torches": "torch",
    "memory": "memory",
    "from": "reader",
    "traces": "trace",
}
ENDS = ".json", ".json.gz"
MOST = 24 << 20  # bytes of a file, unfolded


PACKED = re.compile(r"run-([a-z0-9][a-z0-9-]*)\.json\.gz")  # a whole run, packed: no record until it is unpacked


class RecordError(ValueError):
    """A recorded file is not whole. The message names the file and the place."""


def files_of(folder: Path) -> list[Path]:
    """Every recorded file in it, recursively."""
    return [path for path in sorted(folder.rglob("*")) if path.name.endswith(ENDS) and not PACKED.fullmatch(path.name)]


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
        text_without_names(text)
        data = read_json(text, object_pairs_hook=_once, parse_constant=_no_number)
        check(data, path.name.partition(".")[0])
    except UnicodeDecodeError as error:
        raise RecordError(f"{place.as_posix()}: no text in UTF-8 from byte {error.start} on") from None
    except json.JSONDecodeError as error:
        said = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise RecordError(f"{place.as_posix()}: no JSON: {said}") from None
    except (Bad, GzipError, TooDeep) as error:
        raise RecordError(f"{place.as_posix()}: {error}") from None
    return data


def _text(path: Path) -> str:
    found = path.read_bytes()
    if path.suffix == ".gz":
        found = unfolded(found, MOST)
    if len(found) > MOST:
        raise expected(f"at most {MOST} bytes", len(found), "")
    return found.decode("utf-8")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys come once: of two, JSON's reader would keep the last without a word."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise Bad(next(name for name in names if names.count(name) > 1), "comes twice")
    return found


def _no_number(constant: str) -> float:
    raise Bad(constant, "is no number of JSON")
