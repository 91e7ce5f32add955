"""Programs run in forks of a process that has imported torch: as `python` and `torchrun` would, without seconds of start each.

`run(script, nranks=4)` sets what torchrun sets and ends the job as torchrun does: the first rank that fails ends the others. One test
of each kind of program uses the real torchrun besides. What else takes seconds to import, `loaded` names: once for all ranks.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SERVER = Path(__file__).with_name("warm_server.py")
PLACE = ("RANK", "LOCAL_RANK", "GROUP_RANK")  # a rank's own
_server: subprocess.Popen | None = None


def run(
    *argv: str,
    nranks: int = 0,
    nnodes: int = 1,
    timeout: float = 120,
    loaded: tuple[str, ...] = (),
    looks: float = 0.1,
    **env: str,
) -> subprocess.CompletedProcess[str]:
    """`python argv`, or with nranks `torchrun argv` with so many ranks. loaded: imported before. env: further environment.

    looks: seconds between two looks at the ranks, torchrun's by default; so long the others live on after one has failed.
    nnodes: as if the ranks were on so many nodes, with equally many on each; all of them are on this machine.
    """
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        job = {"argv": argv, "out": str(out), "err": str(err), "limit": timeout, "loaded": loaded, "looks": looks}
        job["ranks"] = [env | told for told in _ranks(nranks, nnodes)]
        code = ask(job, timeout)
        return subprocess.CompletedProcess(argv, code, out.read_text(), err.read_text())


def step(*argv: str, tasks: list[dict[str, str]], timeout: float = 100) -> list[tuple[int, str, str]]:
    """`python argv` once for each environment, side by side and none ended for another: (exit status, stdout, stderr) of each."""
    with tempfile.TemporaryDirectory() as folder:
        said = [[str(Path(folder, f"{name}{task}")) for name in ("out", "err")] for task in range(len(tasks))]
        each = [{"argv": argv, "out": out, "err": err, "limit": timeout} for out, err in said]
        codes = ask({"argv": argv, "tasks": list(zip(each, tasks, strict=True))}, timeout)
        return [(code, *(Path(path).read_text() for path in paths)) for code, paths in zip(codes, said, strict=True)]


def _ranks(nranks: int, nnodes: int = 1) -> list[dict[str, str]]:
    """What torchrun tells each rank; nothing to a program that is no rank."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    shared |= {"TORCHELASTIC_RUN_ID": "warm", "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "0"}
    each = nranks // nnodes
    shared |= {"WORLD_SIZE": str(nranks), "LOCAL_WORLD_SIZE": str(each)}
    ranks = [(str(rank), str(rank % each), str(rank // each)) for rank in range(nranks)]
    return [shared | dict(zip(PLACE, rank, strict=True)) for rank in ranks] or [{}]


def ask(job: dict, timeout: float = 60) -> int | list[int]:
    """The exit status of the job; of every task of a step; of a kernel its pid."""
    global _server
    if _server is None or _server.poll() is not None:
        command = [sys.executable, str(SERVER)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        _server = subprocess.Popen(command, cwd=ROOT, start_new_session=True, **pipes)
    print(json.dumps(job), file=_server.stdin, flush=True)
    answers = select.poll()  # select() knows the first 1,024 files alone
    answers.register(_server.stdout, select.POLLIN | select.POLLHUP)
    if not answers.poll(1000 * (timeout + 60)):
        end()
        raise subprocess.TimeoutExpired(job.get("argv"), timeout)
    return json.loads(_server.stdout.readline())


def end() -> None:
    """The server and everything in its session."""
    global _server
    if _server is not None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(_server.pid, signal.SIGKILL)
        _server.communicate()
        _server = None
