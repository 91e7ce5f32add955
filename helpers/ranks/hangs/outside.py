"""What a stuck rank tells those who ask from outside: torch's worker server, py-spy, NCCL's RAS. Chapter: hangs.

    path = open_door(folder)                 # inside a rank, before it is stuck
    ask_worker(path, "dump_traceback")       # from anywhere on its machine
    stack(pid)                               # no preparation, but the right to trace the process
    ask_ras()                                # a job with NCCL 2.24 or newer, no preparation

torch.distributed.debug.start_debug_server opens the same worker server on a port that anybody in the network may ask. A socket in a
folder is for those who may read the folder. The class has an underscore: for looking, not for building on (torch 2.13).
"""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from torch._C import _distributed_c10d as c10d

LONGEST_PATH = 107  # bytes of a UNIX socket's path, unix(7)
RAS = ("localhost", 28028)  # NCCL's default, NCCL_RAS_ADDR
_doors: dict[str, c10d._WorkerServer] = {}  # they close when they are let go


def open_door(folder: str | Path) -> str:
    """Inside a rank: torch's worker server on a socket in `folder`; its path. ValueError for a path too long for a socket."""
    path = f"{folder}/rank-{os.getpid()}.sock"
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise ValueError(
            f"a socket's path has at most {LONGEST_PATH} bytes, got {path!r}; {tempfile.gettempdir()} is short"
        )
    if path not in _doors:
        _doors[path] = c10d._WorkerServer(path, -1)
    return path


class _Door(http.client.HTTPConnection):
    """HTTP over a socket that is a file."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def ask_worker(path: str, handler: str, seconds: float = 2.0) -> bytes:
    """What a rank's worker server answers: handler "dump_traceback", "fr_trace_json", "ping", ...

    TimeoutError after `seconds`: a handler that wants Python's lock (the GIL) waits for it. ValueError for a handler that it has not.
    OSError where nobody listens.
    """
    door = _Door(path, seconds)
    try:
        door.request("POST", f"/handler/{handler}")
        answer = door.getresponse()
        text = answer.read()
    except TimeoutError as error:
        raise TimeoutError(f"no answer to {handler} in {seconds:g} s") from error
    finally:
        door.close()
    if answer.status == http.client.NOT_FOUND:
        raise ValueError(f"torch's worker server has no handler {handler!r}: {text.decode(errors='replace').strip()}")
    return text


def stack(pid: int, seconds: float = 10.0) -> str:
    """py-spy's view of a process: the stack of each of its threads, innermost call first. The process is stopped for some milliseconds.

    FileNotFoundError without py-spy. PermissionError with py-spy's words where this user may not trace that process.
    """
    beside = Path(sys.executable).with_name("py-spy")
    found = str(beside) if beside.exists() else shutil.which("py-spy")
    if found is None:
        raise FileNotFoundError("py-spy is not installed: pip install py-spy")
    plain = os.environ | {"CLICOLOR_FORCE": "0", "NO_COLOR": "1"}  # Jupyter's kernels ask everybody for colours
    command = [found, "dump", "--pid", str(pid)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, env=plain)
    if done.returncode:
        raise PermissionError(f"py-spy sees nothing of process {pid}: {done.stderr.strip().splitlines()[0]}")
    return done.stdout


def ask_ras(address: tuple[str, int] = RAS, seconds: float = 15.0) -> str:
    """NCCL's RAS of a job on this machine, as `ncclras -v` prints it: ranks that lag behind in a communicator, or do not answer.

    ConnectionError where no RAS listens: no NCCL, one before 2.24, or NCCL_RAS_ENABLE=0. TimeoutError after `seconds`.
    Protocol: NCCL's user guide, RAS; it waits up to five seconds for a process that is silent.
    """
    try:
        with socket.create_connection(address, timeout=seconds) as line:
            line.sendall(b"verbose status\n")
            answer = b"".join(iter(lambda: line.recv(65536), b""))
    except ConnectionRefusedError as error:
        host, port = address
        raise ConnectionError(f"no RAS listens at {host}:{port}: is there a job with NCCL 2.24 or newer?") from error
    return answer.decode(errors="replace")
