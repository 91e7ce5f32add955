"""Ranks import what the notebook imports: from the same folders, and what it has loaded again they load again. Chapter: ranks.

A function of a module travels by name. Without this a folder put on sys.path after the ranks had started would not be found,
and a file edited under %autoreload would be new in the notebook and old in the ranks.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType

from helpers.ranks.notes.reader_lines import own


@dataclass(frozen=True)
class Imports:
    """What a call tells the ranks. path: sys.path. reloads: how often the notebook has loaded each of its own modules again."""

    path: tuple[str, ...]
    reloads: dict[str, int]


class _Own:
    """One of the reader's own modules, as it was when the notebook last looked."""

    def __init__(self, module: ModuleType):
        self.module, self.file, self.reloads = module, Path(module.__spec__.origin), 0
        self.written, self.parts = _written(self.file), _parts(module)

    def look(self) -> None:
        """Its file was edited, and since then something in it was exchanged: %autoreload, or a reload by hand, has been at work."""
        if (written := _written(self.file)) == self.written:
            return
        parts = _parts(self.module)
        if len(parts) != len(self.parts) or any(a is not b for a, b in zip(parts, self.parts, strict=True)):
            self.written, self.parts, self.reloads = written, parts, self.reloads + 1


_last: tuple[int, str] = (0, "")  # how many modules there were when the notebook last looked, and which came last
_own: dict[str, _Own] = {}
_told = Imports((), {})


def now() -> Imports:
    """In the notebook, before every call; microseconds, unless something was imported since."""
    global _last
    last = len(sys.modules), next(reversed(sys.modules))
    if last != _last:
        _last = last
        for name, module in list(sys.modules.items()):
            if _is_own(module) and name not in _own:
                _own[name] = _Own(module)
    for known in _own.values():
        known.look()
    reloads = {name: known.reloads for name, known in _own.items() if known.reloads}
    return Imports(tuple(str(entry) if entry else _here() for entry in sys.path), reloads)


def follow(told: Imports) -> None:
    """In a rank, before a call is unpickled. What the rank itself has put on sys.path stays until the notebook's changes."""
    global _told
    before, _told = _told, told
    if told.path != before.path:
        sys.path[:] = told.path
        importlib.invalidate_caches()
    for name, times in told.reloads.items():
        if times != before.reloads.get(name) and name in sys.modules:
            importlib.reload(sys.modules[name])


def _is_own(module: ModuleType) -> bool:
    """A module of the reader's that came from a file; never the script that runs, or the notebook."""
    spec = getattr(module, "__spec__", None)
    return bool(spec and spec.has_location and spec.origin and own(spec.origin)) and module.__name__ != "__main__"


def _written(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:  # it was removed, or lies in an archive
        return 0.0


def _parts(module: ModuleType) -> list[object]:
    """Its names' values, and the code of its functions and methods, which %autoreload exchanges in place."""
    values = list(vars(module).values())
    inner = [v for c in values if isinstance(c, type) and c.__module__ == module.__name__ for v in vars(c).values()]
    return [*values, *(f.__code__ for f in values + inner if isinstance(f, FunctionType))]


def _here() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError:  # it was removed
        return ""
