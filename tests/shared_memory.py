"""Whose a file in /dev/shm is, so that a test can count its own while other workers make theirs."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from pathlib import Path

NAMED = ("torch_", "psm_", "sem.", "nccl-")  # how torch, multiprocessing and NCCL name theirs
SHM = Path("/dev/shm")


def shared_memory(ours: Collection[int], folder: Path = SHM) -> set[Path]:
    """The files that these processes hold, or that nobody holds: what a process has left is nobody's, so it counts for whoever looks.

    A file that only other processes have open or mapped is theirs.
    """
    found = _files(folder)
    if not found:
        return found
    held, others = (set().union(*map(_held, pids)) for pids in (ours, set(_pids()) - set(ours)))
    # One that is gone by now was somebody's who has just closed it.
    return {file for file in found & _files(folder) if str(file) in held or str(file) not in others}


def _files(folder: Path) -> set[Path]:
    return {file for file in folder.iterdir() if file.name.startswith(NAMED)}


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _held(pid: int) -> set[str]:
    """Paths of all files that the process has open or mapped; none of a process that has ended or is another user's."""
    held: set[str] = set()
    with contextlib.suppress(OSError):
        fields = (line.split(maxsplit=5) for line in Path(f"/proc/{pid}/maps").read_text().splitlines())
        held.update(line[5] for line in fields if len(line) == 6)
    with contextlib.suppress(OSError):
        for fd in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):  # closed meanwhile
                held.add(str(fd.readlink()))
    return held
