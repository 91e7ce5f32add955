"""Warm ranks that the tests share, and the count of everything that a launch might leave behind."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import warm
from shared_memory import shared_memory

from helpers.ranks import Ranks


@pytest.fixture(scope="session", autouse=True)
def cold():
    """The process with torch in it ends with the tests."""
    yield
    warm.end()


@pytest.fixture(scope="session")
def pools() -> Iterator[dict[int, Ranks]]:
    """Ranks by their number: 2, 3 and 4 of them on the CPU, with a deadline of 2 s."""
    made = {n: Ranks(n, backend="gloo", timeout=2.0) for n in (2, 3, 4)}
    yield made
    for ranks in made.values():
        ranks.close()


@pytest.fixture
def four(pools) -> Ranks:
    return pools[4]


@pytest.fixture
def two(pools) -> Ranks:
    return pools[2]


@pytest.fixture
def leftovers() -> Leftovers:
    return Leftovers()


class Leftovers:
    """What exists now and did not exist when this was made; by its name, what is another program's does not count."""

    def __init__(self):
        self._before = self._now()

    def found(self) -> dict[str, set]:
        return {kind: extra for kind, now in self._now().items() if (extra := now - self._before[kind])}

    @staticmethod
    def _now() -> dict[str, set]:
        processes = {p.pid for p in psutil.Process().children(recursive=True) if p.status() != psutil.STATUS_ZOMBIE}
        return {
            "processes": processes,
            "descriptors": {(fd.name, _target(fd)) for fd in Path("/proc/self/fd").iterdir()},
            "threads": {thread.name for thread in threading.enumerate()},
            "directories": set(Path(tempfile.gettempdir()).glob(f"bytes-in-motion-{os.getpid()}-*")),
            "shared memory": shared_memory({os.getpid(), *processes}),
        }


def _target(fd: Path) -> str:
    try:
        return str(fd.readlink())
    except OSError:  # the descriptor of this very listing
        return ""
