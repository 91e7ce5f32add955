"""Pickles read as data: dicts, lists, tuples, texts, bytes and numbers. Chapters: allocator, hangs.

A pickle can run anything. Whatever names a class or a function is refused here before it is made: torch's memory snapshots and the dumps
of its flight recorder, which come from elsewhere, need neither.
"""

from __future__ import annotations

import gc
import io
import marshal
import pickle
import pickletools
import warnings
from collections.abc import Callable
from typing import Any, cast

DEEPEST = 32  # lists in dicts in lists; torch's own dumps need six
_HOLD = (dict, list, tuple, set, frozenset)
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
    """The data of a pickle; NotPlain for one so deep that the interpreter of a page could end by it.

    longest: in bytes; with it the pickle's steps are looked through before any is done. That look costs about a second for each million
    steps; it refuses what would take much memory for few bytes.
    """
    if longest is not None:
        _look_through(data, longest)
    found = _unbroken(lambda: _Plain(io.BytesIO(data)).load())
    if not _is_shallow(found):
        held, depth = _held(found)
        if depth > DEEPEST:
            del found
            _let_go(held)
            raise NotPlain(f"is nested deeper than {DEEPEST} levels")
    return found


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
    """NotPlain where lists and dicts stand in each other deeper than this; a circle ends."""
    if _held(data)[1] > deepest:
        raise NotPlain(f"is nested deeper than {deepest} levels")


def _is_shallow(data: object) -> bool:
    """Whether it is certainly not deep: marshal goes through millions of things in a moment, and gives up at a thousand levels or two."""
    try:
        marshal.dumps(cast(Any, data))
    except ValueError:
        return False
    return True


def _held(data: object) -> tuple[list[Any], int]:
    """All lists, dicts, tuples and sets in data, each once and outer ones first, and in how many levels. Without recursion."""
    held, level, seen, depth = list[Any](), [data], set[int](), 0
    while level := [
        one for one in {id(one): one for one in level if isinstance(one, _HOLD)}.values() if id(one) not in seen
    ]:
        seen.update(map(id, level))
        held += level
        level = gc.get_referents(*level)
        depth += 1
    return held, depth


def _let_go(held: list[Any]) -> None:
    """Outer things first and each alone: a long chain that goes at once would end the interpreter of a page."""
    for thing in held:
        if not isinstance(thing, (tuple, frozenset)):
            thing.clear()
    held.reverse()
    while held:
        held.pop()
