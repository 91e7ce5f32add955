"""What the system may refuse a launch: files, processes, room. Each is one line with the remedy. Chapter: ranks."""

from __future__ import annotations

import errno
import os
import resource
import tempfile
from pathlib import Path

FILES_PER_RANK = 5  # that the notebook keeps open: its ends of three pipes, and two of multiprocessing's
FILES_BESIDE = 20  # that a start holds open besides, and some to spare
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)


def check_files(n: int) -> None:
    """Raises OSError when n more ranks would not leave this process a file to open: half a start would end the fork server."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted, here = n * FILES_PER_RANK + FILES_BESIDE, _open_files(most)
    if most != resource.RLIM_INFINITY and here + wanted > most:
        raise OSError(
            errno.EMFILE,
            f"{n} rank{'s' * (n > 1)} want {wanted} open files beside the {here} that this process has, which may have {most}:"
            f" say `ulimit -n {max(1024, 2 * (here + wanted))}` in the shell before you start the notebook",
        )


def _open_files(most: int) -> int:
    try:
        return sum(1 for _ in Path("/dev/fd").iterdir())
    except OSError:  # not even one more
        return most


def with_remedy(error: Exception) -> Exception:
    """What a start raised, with the remedy in its text where there is one."""
    code, another = getattr(error, "errno", None), "name another in TMPDIR before you start the notebook"
    folder = _folder()
    if folder is None:
        return FileNotFoundError(code, f"no folder for temporary files can be written to: {another}")
    if code in _NO_ROOM:
        return OSError(code, f"{os.strerror(code)}: no room for the ranks' folder in {folder}: free some, or {another}")
    if code in _CLOSED:
        return OSError(code, f"{os.strerror(code)}: the ranks' folder cannot be made in {folder}: {another}")
    if isinstance(error, FileNotFoundError) and not Path(folder).is_dir():
        gone = f"the folder for temporary files is gone: make {folder} again, or {another}"
        return FileNotFoundError(code, gone)
    few = f"this user may have no more processes or threads: look at `ulimit -u` ({_processes()}), or at a container's limit"
    if code == errno.EAGAIN:
        return BlockingIOError(code, f"{os.strerror(code)}: {few}")
    if "start new thread" in str(error):
        return RuntimeError(f"{error}: {few}")
    if isinstance(error, (EOFError, ConnectionError)):
        return RuntimeError(f"the fork server ended while it started a rank, perhaps because {few}")
    return error


def _folder() -> str | None:
    """For temporary files; None where there is none."""
    try:
        return tempfile.gettempdir()
    except OSError:
        return None


def _processes() -> str:
    most, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    return "unlimited" if most == resource.RLIM_INFINITY else str(most)
