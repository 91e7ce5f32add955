"""How a fork of a rank hears of the end: also of one that came before it could listen, and not through what is no pipe of ours."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing import Pipe

import pytest

from helpers.ranks.worker import mortal


def end_of_a_fork(control, pipe: os.stat_result) -> int:
    """How a process ends that was forked from a rank and lives for a second: 0, or minus a signal."""
    if (pid := os.fork()) == 0:
        mortal._forked(control, pipe)
        time.sleep(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.fixture
def ends():
    """(the rank's end, the notebook's end) of a pipe."""
    ours, theirs = Pipe(duplex=False)
    yield ours, theirs
    ours.close()
    theirs.close()


def test_a_fork_whose_first_moment_comes_after_the_end_ends_too(ends):
    control, notebook = ends
    pipe = os.fstat(control.fileno())
    notebook.close()
    assert end_of_a_fork(control, pipe) == -signal.SIGKILL


def test_a_descriptor_that_is_another_file_by_now_says_nothing(ends, tmp_path):
    control, notebook = ends
    pipe = os.fstat(control.fileno())
    full = tmp_path / "full"
    full.write_text("a file can always be read")
    with full.open() as file:
        os.dup2(file.fileno(), control.fileno())
    notebook.close()
    assert end_of_a_fork(control, pipe) == 0
