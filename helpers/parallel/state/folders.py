"""Where checkpoints lie: `step-3` is a whole one, `step-3.part` one that is being written or was interrupted. Chapter: sharded.

A save never touches an earlier one: it writes into a folder of its own, and renaming that folder, which a file system does at once or
not at all, is the moment from which it counts.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from helpers.parallel.checks import whole

PART = ".part"
NAME = re.compile(r"step-(\d+)")


def steps(root: Path) -> dict[int, Path]:
    """The whole checkpoints under `root`, by step, the earliest first; none where there is no such folder."""
    found = {int(match[1]): path for path in Path(root).glob("step-*") if (match := NAME.fullmatch(path.name))}
    return dict(sorted(found.items()))


def latest(root: Path) -> Path | None:
    """The whole checkpoint of the highest step under `root`."""
    return next(reversed(steps(root).values()), None)


def free(root: Path, step: int) -> Path:
    """The folder to write into. ValueError where that step is saved already: two runs under one root would mix."""
    part = Path(root) / f"step-{whole('step', step, least=0)}{PART}"
    if (there := part.with_suffix("")).exists():
        raise ValueError(f"step {step} is saved already, in {there}: take another folder, or resume from it")
    return part


def begin(part: Path) -> None:
    """One process, before any rank writes: what an interrupted save left there goes."""
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)


def commit(part: Path) -> Path:
    """One process, when every rank has written: from here on it is a checkpoint, also after the power has failed."""
    _synced(part)
    done = part.rename(part.with_suffix(""))
    _synced(done.parent)
    return done


def _synced(folder: Path) -> None:
    """A folder's list of names is on the disk: the files' contents are, but their names and the new name of all are the folder's."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
