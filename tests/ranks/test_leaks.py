"""Nothing is left behind: processes, descriptors, threads, files, memory; not by imports, nor by scripts without a main guard."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from pathlib import Path

import labs
import psutil
import pytest

from helpers.ranks import RankError, Ranks
from helpers.ranks.machine import scratch, server
from helpers.ranks.pool import launch

pytestmark = pytest.mark.faults

RSS_GROWTH = 20_000_000  # bytes, over 20 launches


def launch_once(number: int) -> None:
    with Ranks(2, backend="gloo", timeout=1.0) as ranks:
        if number % 2:
            with pytest.raises(RankError):
                ranks.run(labs.exits if number % 4 == 1 else labs.returns_early, *[7] * (number % 4 == 1))
        else:
            assert ranks.run(labs.healthy) == [8.0] * 2


@pytest.mark.matrix("twenty launches in a row")
def test_twenty_launches_half_of_them_failing_leave_nothing(leftovers):
    for number in range(4):
        launch_once(number)
    rss = psutil.Process().memory_info().rss
    before = type(leftovers)()
    for number in range(20):
        launch_once(number)
    assert before.found() == {}
    assert psutil.Process().memory_info().rss - rss < RSS_GROWTH


def test_ranks_that_have_ended_are_kept_by_nothing_and_their_folder_may_be_gone():
    ranks = Ranks(2, backend="gloo")
    ranks.run(labs.healthy)
    ended = weakref.ref(ranks._team)
    shutil.rmtree(ended()._scratch)
    ranks.close()
    gc.collect()
    assert ended() is None


def test_a_start_that_fails_half_way_leaves_nothing(leftovers, monkeypatch):
    launch_once(0)
    before, original = type(leftovers)(), launch.Team._start

    def fails_at_the_third(team, rank, *args):
        if rank == 2:
            raise KeyboardInterrupt
        original(team, rank, *args)

    monkeypatch.setattr(launch.Team, "_start", fails_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        Ranks(4, backend="gloo")
    assert before.found() == {}


def test_an_interrupt_in_the_last_moment_of_a_launch_leaves_nothing(leftovers, monkeypatch):
    """Nor does its traceback, which IPython keeps, hold the ranks."""
    launch_once(0)
    before, original = type(leftovers)(), launch.Team.start

    def interrupted_at_its_end(team, hold):
        original(team, hold)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(launch.Team, "start", interrupted_at_its_end)
    with pytest.raises(KeyboardInterrupt) as kept:
        Ranks(2, backend="gloo")
    assert before.found() == {}, kept


def test_a_launch_without_a_thread_leaves_nothing(leftovers, monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    launch_once(0)
    before = type(leftovers)()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        Ranks(2, backend="gloo")
    assert before.found() == {}


def test_a_rank_that_cannot_join_is_an_error_and_leaves_nothing(leftovers):
    launch_once(0)
    before = type(leftovers)()
    with (
        pytest.raises(RankError, match=r"^the ranks could not start: ranks 0, 1 raised RuntimeError"),
        Ranks(2, backend="gloo", env={"GLOO_SOCKET_IFNAME": "nowhere0"}) as ranks,
    ):
        ranks.run(labs.healthy)
    assert before.found() == {}


def test_what_a_killed_notebook_left_is_swept_and_what_lives_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead, alive, young, foreign = (
        tmp_path / f"bytes-in-motion-{name}" for name in ("dead", "alive", "young", "foreign")
    )
    for folder in (dead, alive, young, foreign):
        folder.mkdir()
        if folder != foreign:
            (folder / "notes").touch()
        if folder != young:
            os.utime(folder, (0, 0))
    with (alive / "notes").open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with Ranks(1, backend="gloo"):
            assert [p.exists() for p in (dead, alive, young, foreign)] == [False, True, True, True]


def test_who_sweeps_goes_on_behind_what_another_has_swept(tmp_path, monkeypatch):
    gone, dead = tmp_path / "bytes-in-motion-gone", tmp_path / "bytes-in-motion-dead"
    dead.mkdir()
    (dead / "notes").touch()
    os.utime(dead, (0, 0))
    monkeypatch.setattr(scratch.Path, "glob", lambda *_: iter([gone, dead]))
    scratch._sweep()
    assert not dead.exists()


SCRIPT = """
import torch, torch.distributed as dist
from helpers.ranks import Ranks
print("the script runs")
def f():
    x = torch.ones(1)
    dist.all_reduce(x)
    return x.item()
print(Ranks(2, backend="gloo").run(f))
"""


def test_a_script_without_a_main_guard_runs_once_and_ends(tmp_path):
    script = tmp_path / "lab.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("the script runs\n[2.0, 2.0]\n", "")


def test_where_there_is_no_forkserver_ranks_are_spawned(monkeypatch):
    monkeypatch.setattr(server.multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    with Ranks(1, backend="gloo") as ranks:
        assert ranks.run(lambda: Path(f"/proc/{os.getppid()}/stat").read_text().split()[0]) == [str(os.getpid())]


def test_fork_is_never_used(monkeypatch):
    monkeypatch.setattr(server.multiprocessing, "get_all_start_methods", lambda: ["fork", "spawn"])
    assert server.context().get_start_method() == "spawn"
    monkeypatch.undo()
    assert server.context().get_start_method() == "forkserver"
