"""What a memory snapshot must have, or an error that names the place. Chapter: allocator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

LARGEST = 1 << 50  # bytes; no GPU has a PiB
HIGHEST = 1 << 64  # addresses, and microseconds
MOST_DEVICES = 1 << 16
# A pickle may name one list a million times, so a short file can hold much.
MOST_BLOCKS = 1 << 22
MOST_ENTRIES = 1 << 24


class SnapshotError(ValueError):
    """Not a memory snapshot, or a file that asks for more than data."""


def check_segments(segments: object) -> None:
    """SnapshotError for what segment_of and Snapshot could not read."""
    rows = [_a_dict(one, f"segment {place}") for place, one in enumerate(_a_list(segments, "segments"))]
    blocks = [_a_list(row.get("blocks"), f"segment {place}: blocks") for place, row in enumerate(rows)]
    _not_too_many(sum(map(len, blocks)), "blocks", MOST_BLOCKS)
    for place, row in enumerate(rows):
        about = f"segment {place}"
        _whole(row, "address", about, HIGHEST)
        _whole(row, "total_size", about, LARGEST)
        _text(row, "segment_type", about)
        _whole(row, "device", about, MOST_DEVICES, missing=True)
        for number, block in enumerate(blocks[place]):
            if not _is_block(block):
                _check_block(block, f"segment {place}, block {number}")


def _is_block(row: Any) -> bool:
    """Whether nothing is wrong with a block, told without a word: a file has hundred thousands."""
    return row.__class__ is dict and (
        row.get("state").__class__ is str
        and _fits(row.get("size"), LARGEST)
        and _fits(row.get("address", 0), HIGHEST)
        and _fits(row.get("requested_size", 0), LARGEST)
    )


def _is_entry(row: Any, marks: Iterable[str]) -> bool:
    """The same of an entry of a history."""
    return row.__class__ is dict and (
        (action := row.get("action")).__class__ is str
        and _fits(row.get("size"), LARGEST)
        and _fits(row.get("addr", 0 if action in marks else None), HIGHEST)
        and _fits(row.get("time_us", 0), HIGHEST)
    )


def _fits(value: Any, most: int) -> bool:
    return value.__class__ is int and 0 <= value < most


def _check_block(block: object, about: str) -> None:
    row = _a_dict(block, about)
    _whole(row, "size", about, LARGEST)
    _text(row, "state", about)
    _whole(row, "address", about, HIGHEST, missing=True)
    _whole(row, "requested_size", about, LARGEST, missing=True)


def check_traces(traces: object, marks: Iterable[str]) -> None:
    """SnapshotError for a history that could not be read. marks: actions that have no address."""
    rows = [_a_list(one, f"device_traces[{place}]") for place, one in enumerate(_a_list(traces, "device_traces"))]
    _not_too_many(sum(map(len, rows)), "entries", MOST_ENTRIES)
    for device, entries in enumerate(rows):
        for place, one in enumerate(entries):
            if not _is_entry(one, marks):
                _check_entry(one, f"device {device}, entry {place}", marks)


def _check_entry(one: object, about: str, marks: Iterable[str]) -> None:
    entry = _a_dict(one, about)
    _whole(entry, "size", about, LARGEST)
    _text(entry, "action", about)
    _whole(entry, "addr", about, HIGHEST, missing=entry["action"] in marks)
    _whole(entry, "time_us", about, HIGHEST, missing=True)


def _whole(row: Mapping[str, Any], name: str, about: str, most: int, missing: bool = False) -> None:
    if missing and name not in row:
        return
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < most:
        what = f"is {type(value).__name__}" if name in row else "is missing"
        raise _wrong(f"{about}: {name} {what}, expected a whole number from 0 to {most - 1}")


def _text(row: Mapping[str, Any], name: str, about: str) -> None:
    if not isinstance(row.get(name), str):
        what = f"is {type(row[name]).__name__}" if name in row else "is missing"
        raise _wrong(f"{about}: {name} {what}, expected a text")


def _a_list(value: object, about: str) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise _wrong(f"{about} is {type(value).__name__}, expected a list")
    return value


def _a_dict(value: object, about: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(f"{about} is {type(value).__name__}, expected a dict")
    return value


def _not_too_many(count: int, what: str, most: int) -> None:
    if count > most:
        raise _wrong(f"{count} {what}, expected at most {most}")


def _wrong(told: str) -> SnapshotError:
    return SnapshotError(f"not a memory snapshot of torch: {told}")
