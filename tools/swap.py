"""An environment is replaced only by a whole one: until then the one from before stands beside it, and comes back when an install fails.

A virtual environment knows its own path, so the new one is made in its place and the old one waits next door. What ends an install
half way (Ctrl-C, a kill, no power) leaves both: the next install begins by putting the old one back. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType


def beside(venv: Path, what: str) -> Path:
    """ ".venv" -> ".venv-before": the old one; ".venv-half": a copy under way, or what a failed install has made."""
    return venv.with_name(f"{venv.name}-{what}")


def recover(venv: Path, whole: bool) -> None:
    """What an install that was cut off left. whole: it had finished, and only the old environment was not removed yet."""
    if not beside(venv, "before").exists():
        shutil.rmtree(beside(venv, "half"), ignore_errors=True)
    elif whole:
        shutil.rmtree(beside(venv, "before"))
    else:
        print(f"The last install did not finish: {venv.name} is again what it was before", flush=True)
        _put_back(venv)


@contextlib.contextmanager
def kept(venv: Path, grows: bool) -> Iterator[None]:
    """While a new environment is made the old one is kept; an exception puts it back, the end removes it.

    grows: the new one is the old one with other packages. Its files are then linked, which costs no room: pip replaces a file and
    never writes into it. A folder that is mounted at this path cannot be swapped, and is changed in its place.
    """
    if venv.is_mount():
        yield
        return
    before = beside(venv, "before")
    if grows:
        _copy(venv, beside(venv, "half"))
        beside(venv, "half").rename(before)
    elif venv.exists():
        venv.rename(before)
    try:
        yield
    except BaseException:
        if before.exists():
            _put_back(venv)
        raise
    shutil.rmtree(before, ignore_errors=True)


def _copy(venv: Path, half: Path) -> None:
    """Raises OSError, with the first of what went wrong, and leaves nothing."""
    try:
        shutil.copytree(venv, half, symlinks=True, copy_function=_linked)
    except shutil.Error as error:
        shutil.rmtree(half, ignore_errors=True)
        raise OSError(error.args[0][0][2]) from None


def _put_back(venv: Path) -> None:
    """In two renames, so that nothing is between them but a name: what is removed afterwards may take its time."""
    half = beside(venv, "half")
    shutil.rmtree(half, ignore_errors=True)
    if venv.exists():
        venv.rename(half)
    beside(venv, "before").rename(venv)
    shutil.rmtree(half, ignore_errors=True)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system that knows no links
        shutil.copy2(source, target)


@contextlib.contextmanager
def told_to_end() -> Iterator[None]:
    """SIGTERM and SIGHUP end it as Ctrl-C does: else the command that runs would work on, and nothing be put back."""

    def end(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    before = [(one, signal.signal(one, end)) for name in ("SIGTERM", "SIGHUP") if (one := getattr(signal, name, None))]
    try:
        yield
    finally:
        for one, handler in before:
            signal.signal(one, handler)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """One install at a time in this folder: a second one waits."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, OSError):  # no Unix, or a file system without locks
            import fcntl

            fd = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, fd)
            os.set_inheritable(fd, True)  # a pip whose install was killed works on: the next one waits for it, too
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print("Another install is under way here: waiting for it", file=sys.stderr, flush=True)
                fcntl.flock(fd, fcntl.LOCK_EX)
        yield
