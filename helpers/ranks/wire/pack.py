"""Functions, arguments and results on their way through a pipe. Chapter: ranks.

Functions from a cell travel by value (cloudpickle) together with the cell's text, so that a traceback in a rank shows its lines.
Only bytes from our own children are ever unpickled.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import pickle
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import cloudpickle
import torch

from . import imports


class PackError(TypeError):
    """Something that cannot travel to or from a rank; the message names it."""


class _Pickler(cloudpickle.Pickler):
    """cloudpickle that remembers the files of the functions it met, and sends no more of a tensor than can be seen of it."""

    def __init__(self, file: io.BytesIO):
        super().__init__(file)
        self.files: set[str] = set()

    def reducer_override(self, obj: object) -> Any:
        if isinstance(obj, FunctionType):
            self.files.add(obj.__code__.co_filename)
        elif type(obj) in (torch.Tensor, torch.nn.Parameter) and obj.layout == torch.strided:
            if obj.is_cuda:  # a CUDA tensor would start CUDA in the notebook
                return obj.detach().cpu().__reduce_ex__(5)
            if obj.untyped_storage().nbytes() > obj.nbytes:  # a view would drag its whole buffer along
                return obj.detach().clone().__reduce_ex__(5)
        return super().reducer_override(obj)


def dumps(obj: object) -> bytes:
    """Pickled by value where needed. Raises whatever the object's own pickling raises."""
    return _dump(obj)[0]


def _dump(obj: object) -> tuple[bytes, set[str]]:
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(obj)
    return file.getvalue(), pickler.files


def pack_call(fn: Callable, args: tuple, kwargs: dict) -> bytes:
    """One call as bytes, made once and sent to every rank. Raises PackError naming the function or the argument at fault."""
    if not callable(fn):
        raise PackError(f"run() takes a function and its arguments, got {fn!r} in the function's place")
    try:
        payload, files = _dump((fn, args, kwargs))
    except (Exception, SystemExit) as error:
        if culprit := _culprit(fn, args, kwargs):
            raise PackError(culprit) from error
        raise  # nothing of the call's: a signal's handler raised it
    return pickle.dumps((imports.now(), _cells(files), payload))


def _culprit(fn: Callable, args: tuple, kwargs: dict) -> str:
    """What of a call cannot be sent, and why; "" if all of it can."""
    named = {f"argument {i}": arg for i, arg in enumerate(args)} | {f"argument {k}=": v for k, v in kwargs.items()}
    for name, value in {f"the function {getattr(fn, '__name__', fn)!s}": fn, **named}.items():
        if reason := _refusal(value):
            kind = "" if value is fn else f" (a {type(value).__name__})"
            return f"{name}{kind} cannot be sent to the ranks: {_used(value)}{type(reason).__name__}: {reason}"
    return ""


def _refusal(value: object) -> BaseException | None:
    """Why it cannot be sent, if it cannot."""
    try:
        dumps(value)
    except (Exception, SystemExit) as reason:
        return reason
    return None


def _used(fn: object, seen: tuple[object, ...] = ()) -> str:
    """The variable of a function that cannot be sent, by way of the functions that it calls: "it uses `r`, a Ranks: "."""
    for name, value in _variables(fn).items() if isinstance(fn, FunctionType) else ():
        if not any(value is one for one in (fn, *seen)) and _refusal(value):
            kind = "" if isinstance(value, FunctionType) else f", a {type(value).__name__}"
            return f"it uses `{name}`{kind}: {_used(value, (fn, *seen))}"
    return ""


def _variables(fn: FunctionType) -> dict[str, object]:
    """What it takes from where it was defined, functions inside it too."""
    names, codes = [], [fn.__code__]
    for code in codes:
        names += code.co_names
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    found = {name: fn.__globals__[name] for name in names if name in fn.__globals__}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not set yet
            found[name] = cell.cell_contents
    return found


def _cells(files: set[str]) -> dict[str, list[str]]:
    """The text of those files that exist only in this process: notebook cells."""
    return {name: linecache.getlines(name) for name in files if name in linecache.cache and not Path(name).exists()}


def unpack_call(message: bytes) -> tuple[Callable, tuple, dict]:
    """In the rank: the notebook's imports, the cells' text into linecache, then the function and its arguments."""
    told, cells, payload = pickle.loads(message)
    imports.follow(told)
    for name, lines in cells.items():
        linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
    return pickle.loads(payload)


def unpack(payload: bytes, what: str) -> object:
    """In the notebook: what a rank sent. Raises PackError beginning with `what` when its own unpickling fails."""
    try:
        return pickle.loads(payload)
    except (Exception, SystemExit) as error:
        raise PackError(f"{what} cannot be read back: {type(error).__name__}: {error}") from error
