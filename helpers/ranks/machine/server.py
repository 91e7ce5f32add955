"""The clean process that ranks are forked from: it has imported torch and nothing of the notebook's. Chapter: ranks."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Callable
from multiprocessing import forkserver, process, resource_tracker, util
from pathlib import Path

from helpers.patches import SPAWN

from . import scratch

LONGEST_FOLDER = 103 - len("/listener-xxxxxxxx")  # bytes: on macOS a socket's path has at most 103, on Linux 107
OWN_GROUP = "import os; os.setpgid(0, 0); "
_starting = threading.Lock()
_former: list[int] = []  # servers that nobody finds any more, by pid

PRELOAD = ["helpers.ranks.worker.preload"]  # torch, cloudpickle and the worker's own code


def context() -> multiprocessing.context.BaseContext:
    """forkserver, or spawn where there is none. Never fork."""
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    return multiprocessing.get_context(method)


def also(module: str) -> None:
    """Have the forkserver import one module more, once for all ranks; nothing happens to one that already runs.

    For what every rank of a kind of pool would import by itself, each for seconds. It comes first: our own freezes what is there.
    """
    if module not in PRELOAD:
        PRELOAD.insert(0, module)


def warm_up() -> None:
    """Start the forkserver and return at once; it imports torch meanwhile. Nothing happens when it already runs."""
    ctx = context()
    if ctx.get_start_method() != "forkserver":
        return
    with _starting:
        _reachable(forkserver._forkserver)
        ctx.set_forkserver_preload(PRELOAD)
        with SPAWN.during(util, "spawnv_passfds", _in_a_group_of_its_own(util.spawnv_passfds)):
            resource_tracker.ensure_running()  # it unblocks the signal when it starts, so it starts before
            # Children inherit it: no interrupt reaches them
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                with scratch.working_for_us():
                    forkserver.ensure_running()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _reachable(server: forkserver.ForkServer) -> None:
    """The server's socket lies in the folder for temporary files, which may have been emptied, or have a name too long for a socket."""
    config = process.current_process()._config  # "tempdir" in it is where multiprocessing's sockets come
    folder = config.get("tempdir")
    if folder and not _ours(folder):
        try:
            Path(folder).mkdir(0o700)
        except FileExistsError:  # somebody else was quicker
            folder = config["tempdir"] = None
    if server._forkserver_address and not Path(server._forkserver_address).exists():
        os.close(server._forkserver_alive_fd)  # it ends with the last of its ranks, and nobody finds it any more
        _former.append(server._forkserver_pid)
        server._forkserver_address = server._forkserver_alive_fd = server._forkserver_pid = None
    for pid in [pid for pid in _former if os.waitpid(pid, os.WNOHANG)[0]]:
        _former.remove(pid)
    if len(os.fsencode(folder or f"{tempfile.gettempdir()}/pymp-xxxxxxxx")) > LONGEST_FOLDER:
        config["tempdir"] = folder = tempfile.mkdtemp(prefix="pymp-", dir="/tmp")
        util.Finalize(None, shutil.rmtree, (folder,), {"ignore_errors": True}, exitpriority=-100)


def _ours(folder: str) -> bool:
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


def _in_a_group_of_its_own(spawn: Callable[..., int]) -> Callable[..., int]:
    """multiprocessing's servers are no members of the notebook's process group; they end when their pipe to it closes.

    A Jupyter kernel that is asked to end waits for its group, and the resource tracker does not heed its signals.
    """

    def spawnv_passfds(path: bytes, args: list[str], passfds: list[int]) -> int:
        *python, code = args
        servers = "from multiprocessing.forkserver", "from multiprocessing.resource_tracker"
        return spawn(path, [*python, OWN_GROUP + code if code.startswith(servers) else code], passfds)

    return spawnv_passfds
