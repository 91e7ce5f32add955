"""A block of a page, run as a notebook runs a cell: one namespace for all, the last expression shown, errors in the reader's own lines."""

from __future__ import annotations

import ast
import linecache
from types import ModuleType, TracebackType

from helpers.page.absent import absence, stand_in
from helpers.page.outputs import bundle_of, display, shown

HERE = ModuleType("__main__")  # the names of every block that ran; a new worker begins with none
HERE.display = display
_names: set[str] = set()


def run(code: str, name: str) -> None:
    """Run a block. name: its file in tracebacks, "block 3".

    Raises whatever the block raises, with the frames of blocks alone; what the page lacks is one AbsentError that says so.
    """
    stand_in()
    _names.add(name)
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    try:
        _run(code, name)
    except BaseException as error:
        _trim(error)
        if known := absence(error):
            raise known.with_traceback(error.__traceback__) from None
        raise


def _run(code: str, name: str) -> None:
    tree = ast.parse(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec", dont_inherit=True), HERE.__dict__)
    if last:
        value = eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), HERE.__dict__)
        if value is not None and not _quiet(code, last):
            shown(bundle_of(value))


def _quiet(code: str, last: ast.Expr) -> bool:
    """Does a semicolon follow the last expression?"""
    line = code.splitlines()[last.end_lineno - 1].encode()
    return line[last.end_col_offset :].lstrip().startswith(b";")


def _trim(error: BaseException | None) -> None:
    """Leave an error, and those before it, the frames of blocks alone."""
    while error:
        error.__traceback__ = _own(error.__traceback__)
        error = error.__cause__ or error.__context__


def _own(trace: TracebackType | None) -> TracebackType | None:
    """The frames of blocks, without the library's and ours."""
    if trace is None:
        return None
    rest = _own(trace.tb_next)
    if trace.tb_frame.f_code.co_filename not in _names:
        return rest
    trace.tb_next = rest
    return trace
