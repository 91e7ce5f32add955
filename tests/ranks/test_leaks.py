"""Nothing is left behind: processes, descriptors, threads, files, memory; not by imports, nor by scripts without a main guard."""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import resource
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from multiprocessing import forkserver
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
    with pytest.raises(RuntimeError, match=r"can't start new thread: .* look at `ulimit -u`"):
        Ranks(2, backend="gloo")
    assert before.found() == {}


def no_more_files(*_):
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def the_server_has_ended(*pipe, read=forkserver.read_signed):
    read(*pipe)  # the rank's number: it is there, and nobody is told
    raise EOFError("unexpected EOF")


@pytest.mark.parametrize(
    ("where", "name", "fails", "says"),
    [
        (selectors, "DefaultSelector", no_more_files, r"\[Errno 24\]"),
        (forkserver, "read_signed", the_server_has_ended, "the fork server ended .* `ulimit -u`"),
    ],
    ids=["no file for a selector", "no process for a rank"],
)
def test_a_launch_that_the_system_refuses_leaves_nothing(leftovers, monkeypatch, where, name, fails, says):
    """Not even while its error is kept, as IPython keeps it."""
    launch_once(0)
    before = type(leftovers)()
    monkeypatch.setattr(where, name, fails)
    with pytest.raises((OSError, RuntimeError), match=says) as kept:
        Ranks(2, backend="gloo")
    patience = time.monotonic() + 10
    while "processes" in before.found() and time.monotonic() < patience:  # of a rank whose number nobody has told us
        time.sleep(0.01)
    assert before.found() == {}, kept


def test_too_few_files_are_told_before_anything_starts(leftovers):
    launch_once(0)
    before, limits = type(leftovers)(), resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len([*Path("/dev/fd").iterdir()]) + 20, limits[1]))
    try:
        with pytest.raises(OSError, match=r"4 ranks want 40 open files beside .* say `ulimit -n 1024` in the shell"):
            Ranks(4, backend="gloo")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert before.found() == {}
    launch_once(0)


def script(tmp_path: Path, code: str, *before: str, **env: str) -> str:
    """What a script prints, run after the words `before`."""
    (tmp_path / "script.py").write_text(code)
    command = [*before, sys.executable, str(tmp_path / "script.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100, env=os.environ | env)
    return done.stdout + done.stderr


PRIVATE = ("unshare", "--mount", "--map-root-user")  # a mount of our own, which nobody else sees and which ends with us
LAUNCH = """
import os, shutil, tempfile
from helpers.ranks import Ranks
def launch():
    try:
        with Ranks(2, backend="gloo") as ranks:
            print(ranks.run(lambda: 1))
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
folder = tempfile.gettempdir()
"""


mounts = pytest.mark.skipif(
    not shutil.which(PRIVATE[0])
    or subprocess.run([*PRIVATE, "true"], check=False, capture_output=True).returncode != 0,
    reason="no file system can be mounted here",
)


@mounts
def test_a_folder_that_takes_no_file_is_told(tmp_path):
    """It was writable when Python chose it."""
    (folder := tmp_path / "t").mkdir()
    shut = "os.system(f'mount --bind {folder} {folder} && mount -o remount,ro,bind {folder}')"
    told = script(tmp_path, f"{LAUNCH}{shut}\nlaunch()", *PRIVATE, TMPDIR=str(folder))
    assert told.startswith(
        f"OSError: [Errno 30] Read-only file system: the ranks' folder cannot be made in {folder}: name another in TMPDIR"
    )


@mounts
def test_a_full_file_system_is_told_and_kills_nobody(tmp_path):
    """A file that is only promised its room would kill who writes into its memory, by SIGBUS."""
    full = tmp_path / "full"
    full.mkdir()
    mount = f'mount -t tmpfs -o size=16k tmpfs {full} && exec "$@"'
    told = script(
        tmp_path, LAUNCH + "launch(); print(os.listdir(folder))", *PRIVATE, "sh", "-c", mount, "-", TMPDIR=str(full)
    )
    assert told.startswith(f"OSError: [Errno 28] No space left on device: no room for the ranks' folder in {full}: ")
    assert told.splitlines()[1:] == ["[]"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the file is written")
def test_a_file_that_is_mapped_has_its_room(tmp_path):
    with (tmp_path / "notes").open("wb") as file:
        scratch.reserve(file.fileno(), 1 << 20)
    assert (tmp_path / "notes").stat().st_blocks * 512 >= 1 << 20


def test_an_emptied_folder_for_temporary_files_is_no_hindrance_and_one_that_is_gone_is_named(tmp_path):
    (folder := tmp_path / "t").mkdir()
    empty = "[shutil.rmtree(f'{folder}/{name}') for name in os.listdir(folder)]"
    told = script(tmp_path, f"{LAUNCH}launch()\n{empty}\nlaunch(); shutil.rmtree(folder); launch()", TMPDIR=str(folder))
    gone = f"FileNotFoundError: [Errno 2] the folder for temporary files is gone: make {folder} again"
    assert [line[: len(gone)] for line in told.splitlines()[:3]] == ["[1, 1]", "[1, 1]", gone]


def test_a_folder_whose_name_is_too_long_for_a_socket_will_do(tmp_path):
    """multiprocessing puts two names of 32 letters behind it, and 107 are a socket's most."""
    (folder := tmp_path / ("l" * 90)).mkdir()
    assert script(tmp_path, f"{LAUNCH}launch()", TMPDIR=str(folder)) == "[1, 1]\n"
    assert list(folder.iterdir()) == []


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
