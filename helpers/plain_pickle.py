"""Pickles read as data: dicts, lists, tuples, texts, bytes and numbers. Chapters: allocator, hangs.

A pickle can run anything. Whatever names a class or a function is refused here before it is made: torch's memory snapshots and the dumps
of its flight recorder, which come from elsewhere, need neither.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import warnings
from collections.abc import Callable
from typing import Any

DEEPEST = 32  # lists in dicts in lists; torch's own dumps need six
BROKEN = "not a pickle, or a damaged one"  # whatever it raises, which is another thing in every Python


class NotPlain(ValueError):
    """No pickle, or one that asks for more than data."""


class _Plain(pickle.Unpickler):
    """Data only: a pickle that names a class or a function is refused."""

    def find_class(self, module: str, name: str) -> None:
        raise NotPlain(f"holds data only; this file asks for {module}.{name}")

    def persistent_load(self, pid: object) -> None:
        raise NotPlain("holds data only; this file asks for an object outside of it")


def load_plain(data: bytes, longest: int | None = None) -> object:
    """The data of a pickle. longest: in bytes; with it the pickle's steps are looked through before any is done.

    That look costs about a second for each million steps; it refuses what would take much memory for few bytes.
    """
    if longest is not None:
        _look_through(data, longest)
    return _unbroken(lambda: _Plain(io.BytesIO(data)).load())


def _unbroken(read: Callable[[], object]) -> Any:
    """A broken pickle raises nearly anything, and Python warns of odd texts in it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read()
    except NotPlain:
        raise
    except Exception:
        raise NotPlain(BROKEN) from None


def _look_through(data: bytes, longest: int) -> None:
    """Memo numbers must be dense: a file of ten bytes can ask for a memo of 32 GiB."""
    if len(data) > longest:
        raise NotPlain(f"is longer than {longest} bytes: {len(data)}")
    kept, steps = 0, _unbroken(lambda: list(pickletools.genops(data)))
    for opcode, argument, _ in steps:
        kept += "PUT" in opcode.name or opcode.name == "MEMOIZE"
        if "PUT" in opcode.name and isinstance(argument, int) and argument > kept:
            raise NotPlain(f"keeps its {kept}th thing as number {argument}")


def check_depth(data: object, deepest: int = DEEPEST) -> None:
    """NotPlain where lists and dicts stand in each other deeper than this. Without recursion, and each thing once, so a circle ends."""
    level, seen, depth = [data], set[int](), 0
    while level:
        if depth > deepest:
            raise NotPlain(f"is nested deeper than {deepest} levels")
        below: list[object] = []
        for thing in level:
            if isinstance(thing, (dict, list, tuple)) and id(thing) not in seen:
                seen.add(id(thing))
                below += [*thing.keys(), *thing.values()] if isinstance(thing, dict) else thing
        level, depth = below, depth + 1
