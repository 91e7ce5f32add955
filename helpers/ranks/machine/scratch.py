"""The private (0700) directory of one team: rendezvous, notes, stacks. It is gone when the team is. Chapter: ranks.

A notebook that ends by itself clears up. One that is killed cannot: its fork server, which outlives it by a moment, clears up
after it; and where that was killed too, the next launch of anybody sweeps what is locked by nobody.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import forkserver
from pathlib import Path

_PREFIX = "bytes-in-motion-"
NEWBORN = 10.0  # seconds that a directory may take to get its lock
_NOTEBOOK = "BYTES_IN_MOTION_NOTEBOOK"  # in the environment: the process for which a fork server works
PATIENCE = 1.0  # seconds between the closing of a process's pipes and its end


def make(size: int) -> tuple[Path, int]:
    """A directory with a file "notes" of `size` bytes, and its descriptor: locked while we live. Raises OSError: no room."""
    _sweep()
    scratch = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    try:
        fd = os.open(scratch / "notes", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        reserve(fd, size)
        (scratch / "store").touch(0o600)  # torch would make it readable for all
    except OSError:  # the disk is full
        remove(scratch, fd)
        raise
    return scratch, fd


def remove(scratch: Path, fd: int) -> None:
    """What `make` made."""
    shutil.rmtree(scratch, ignore_errors=True)
    os.close(fd)


def reserve(fd: int, size: int) -> None:
    """The file has `size` bytes, zero, and room for them: whoever maps one that is only promised its room dies by a signal (SIGBUS).

    Raises OSError: no room.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, size)
    else:  # macOS
        with open(fd, "r+b", closefd=False) as file:
            file.write(bytes(size))


@contextlib.contextmanager
def working_for_us() -> Iterator[None]:
    """What starts meanwhile knows this process by name, even if it finds it dead after its first second of imports."""
    os.environ[_NOTEBOOK] = str(os.getpid())
    try:
        yield
    finally:
        os.environ.pop(_NOTEBOOK, None)  # another thread may have done it


def notebook() -> int:
    """In the fork server, once: the process that started it. No rank sees the name."""
    return int(os.environ.pop(_NOTEBOOK, 0))


def clear_after(notebook: int) -> None:
    """The fork server's last act: remove what the process `notebook` left, if it is dead. Multiprocessing's own folder too."""
    patience = time.monotonic() + PATIENCE
    while os.getppid() == notebook:
        if time.monotonic() > patience:  # it lives, and will clear up by itself
            return
        time.sleep(0.01)
    for old in Path(tempfile.gettempdir()).glob(f"{_PREFIX}{notebook}-*"):
        if _unlocked(old):
            shutil.rmtree(old, ignore_errors=True)
    folder = Path(forkserver._forkserver._forkserver_address or "").parent  # the socket that the server listened on
    if folder.name.startswith("pymp-"):
        shutil.rmtree(folder, ignore_errors=True)


def _sweep() -> None:
    """What was killed together with its fork server."""
    for old in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            newborn = time.time() - old.stat().st_mtime < NEWBORN
        except OSError:  # another sweeps
            continue
        if not newborn and _unlocked(old):
            shutil.rmtree(old, ignore_errors=True)


def _unlocked(scratch: Path) -> bool:
    """Nobody alive holds it."""
    try:
        with (scratch / "notes").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # its owner lives, or it is another user's
        return False
    return True
