"""A whole run of gpu-check in one file, run-8xh100.json.gz: the records by name, as an issue carries them. Page: recorded-runs.

The file holds {"records": {"gpu-check": ..., "gpu-bandwidth": ..., "memory/gpu-llama": ...}}: each record as its own file would be.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers.plain_gzip import GzipError, unfolded
from helpers.plain_json import TooDeep, read_json
from helpers.records.record import FOLDER
from helpers.records.whole import PACKED, RecordError, whole

MOST = 4 << 20  # bytes of the text: the page that draws curves reads no more
CHECK = "gpu-check"  # the record that every run has
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_RECORD = re.compile(rf"(?:memory/)?gpu-{NAME.pattern}|labs/{NAME.pattern}")


def pack(paths: Sequence[Path], folder: Path, name: str) -> Path:
    """These records of `folder` as folder/run-NAME.json.gz. RecordError for one that is not whole, or names somebody's machine."""
    made = folder / f"run-{name}.json.gz"
    _pack(made, {}, paths)
    return made


def add(run: Path, paths: Sequence[Path]) -> None:
    """These records of the folder in which a packed run lies, too. RecordError as `pack` has it, and for what is no run."""
    _pack(run, records_of(_text(run)), paths)


def _pack(run: Path, records: Mapping[str, Any], paths: Sequence[Path]) -> None:
    more = {path.relative_to(run.parent).with_suffix("").as_posix(): whole(path, run.parent) for path in paths}
    text = json.dumps({"records": {**records, **more}}, separators=(",", ":"))
    run.write_bytes(gzip.compress(text.encode(), mtime=0))


def records_of(text: str) -> dict[str, Any]:
    """The records by name, as far as that they are there: `whole` reads each. RecordError for what is no run."""
    if len(text) > MOST:
        raise RecordError(f"a run of gpu-check has at most {MOST} letters, and this text {len(text)}")
    try:
        told = read_json(text, parse_constant=_no_number)
    except TooDeep as error:
        raise RecordError(f"a run of gpu-check, and damaged: it {error}") from None
    except ValueError:
        raise RecordError("a run of gpu-check, and damaged: no JSON") from None
    records = told.get("records") if isinstance(told, dict) else None
    if not isinstance(records, dict) or CHECK not in records:
        raise RecordError(f"no run of gpu-check: expected an object with 'records', and {CHECK!r} among them")
    return records


def unpack(path: Path, name: str | None = None, folder: Path = FOLDER) -> Path:
    """recorded/from/NAME, with each record as a file; the run's own name unless one is given.

    RecordError for what is no such file, for a record that is not whole, and for a NAME that is there: nothing is written then.
    """
    name = name or _named(path)
    if not NAME.fullmatch(name):
        raise RecordError(f"--name: expected small letters, digits and hyphens, as in 8xh100, got {name!r}")
    there = folder / "from" / name
    if there.exists():
        raise RecordError(f"recorded/from/{name} is there: give this run another name, --name {name}-2")
    with tempfile.TemporaryDirectory() as made:
        for key, record in records_of(_text(path)).items():
            _write(Path(made), Path("from", name), key, record)
        shutil.copytree(Path(made, "from", name), there)
    return there


def _named(path: Path) -> str:
    found = PACKED.fullmatch(path.name)
    if found is None:
        raise RecordError(f"{path.name}: expected a name like run-8xh100.json.gz, or --name 8xh100 beside it")
    return found[1]


def _text(path: Path) -> str:
    try:
        return unfolded(path.read_bytes(), MOST).decode("utf-8")
    except OSError as error:
        raise RecordError(f"{path.name}: {error.strerror}") from None
    except GzipError as error:
        raise RecordError(f"{path.name}: {error}") from None
    except UnicodeDecodeError:
        raise RecordError(f"{path.name}: no text in UTF-8") from None


def _write(made: Path, under: Path, key: str, record: Any) -> None:
    """As the run itself wrote it, to the byte; and then read as strictly as every recorded file."""
    if not _RECORD.fullmatch(key):
        raise RecordError(
            f"no record is called {key!r}: expected a name like gpu-ladder, memory/gpu-llama or labs/ring-8"
        )
    file = made / under / f"{key}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    form: dict[str, Any] = {"separators": (",", ":")} if key.startswith("memory/") else {"indent": 1}
    file.write_text(json.dumps(record, **form) + "\n", encoding="utf-8")
    whole(file, made)


def _no_number(constant: str) -> float:
    raise ValueError(constant)
