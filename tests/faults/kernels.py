"""A real Jupyter kernel to break things in: its cells, what they print and raise, and everything under it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import warm_kernels
from shared_memory import shared_memory

PATIENCE = 60  # seconds without a word from the kernel: a guard against hangs, never a measure
SETUP = """
import ctypes, os, signal, sys, threading, time, torch, torch.distributed as dist
from helpers.ranks import Ranks, RankError, emit, here
def say(rank, what): print(what, flush=True)
class Landing:  # interrupts land inside `with`, and nowhere else in the cell
    here = False
    def __init__(self): signal.signal(signal.SIGINT, self)
    def __call__(self, signum, frame): self.here and signal.default_int_handler(signum, frame)
    def __enter__(self): self.here = True
    def __exit__(self, *_): self.here = False
def healthy():
    x = torch.ones(4)
    dist.all_reduce(x)
    return x.sum().item()
"""
FOUR = "r = Ranks(4, backend='gloo', timeout={timeout}); print(*r.run(os.getpid))"
HEALTHY = "print(r.run(healthy))"
SUMS = "[16.0, 16.0, 16.0, 16.0]\n"


class Kernel:
    """A kernel whose notebook holds `r`, four ranks on the CPU with a deadline of `timeout` seconds.

    scratch: a folder of its own for temporary files, so that what is left in it is ours. What the kernel, the fork server and
    all ranks write to stderr past the notebook is in the file `terminal`.
    """

    def __init__(self, scratch: Path, timeout: float = 2.0, ranks: bool = True):
        self.scratch, self.timeout = scratch, timeout
        self.terminal = scratch.with_name(scratch.name + "-terminal")
        self._terminal = self.terminal.open("w")  # open for as long as kernels are started
        self.manager, self.client = warm_kernels.started(  # a new process, as a reader's is
            env=os.environ | {"TMPDIR": str(scratch)},
            extra_arguments=["--HistoryManager.enabled=False"],  # a data base, with files and a thread of its own
            stderr=self._terminal,
        )
        self.set_up(ranks)

    def set_up(self, ranks: bool = True) -> None:
        """The notebook's first cells: in a new kernel, and after a restart."""
        self.pid = self.manager.provisioner.process.pid
        cell = self.run(SETUP + (FOUR.format(timeout=self.timeout) if ranks else ""))
        assert not cell.error, cell.error

    def start(self, code: str, until: Callable[[str], bool] = lambda text: True) -> Cell:
        """Begin a cell and return once its output satisfies `until`, or it has ended."""
        cell = Cell(self.client, self.client.execute(code, allow_stdin=False))
        while not until(cell.text) and cell.busy:
            cell.read()
        return cell

    def run(self, code: str) -> Cell:
        """A cell from its start to its end."""
        return self.start(code).end()

    def pids(self) -> list[int]:
        """The ranks of `r`."""
        return [int(pid) for pid in self.run("print(*r.run(os.getpid))").text.split()]

    def below(self) -> list[psutil.Process]:
        """Every process under the kernel: the forkserver, the resource tracker, all ranks."""
        return psutil.Process(self.pid).children(recursive=True)

    def workers(self) -> list[int]:
        """The ranks of all pools, by pid: what the forkserver has forked."""
        return [process.pid for process in self.below() if process.ppid() != self.pid]

    def interrupt(self) -> float:
        """What the stop button does: SIGINT to the whole process group. Returns when that was."""
        now = time.monotonic()
        self.manager.interrupt_kernel()
        return now

    def shoot(self, signum: int = signal.SIGKILL) -> float:
        """End the kernel's own process, and no other; returns when it was gone."""
        process = psutil.Process(self.pid)
        process.send_signal(signum)
        process.wait(PATIENCE)
        return time.monotonic()

    def restart(self, now: bool = True) -> None:
        """The *Restart* button: at once, or politely, with a shutdown_request first."""
        self.manager.restart_kernel(now=now)
        self.client.wait_for_ready(timeout=PATIENCE)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self._terminal.close()

    def settle(self) -> dict[str, int]:
        """What the kernel holds once it has seen everything for which Jupyter and torch make threads of their own."""
        for code in ("print('x' * 1_000_000)", "torch.ones(25_000_000).sum()", "r.run(os._exit, 7)", HEALTHY):
            self.run(code)
        # Another thread tells, when this one sleeps: an interrupt in the middle of a finalizer would be lost.
        asleep = "threading.Timer(0.2, print, ('here',), {'flush': True}).start(); time.sleep(600)"
        cell = self.start(asleep, lambda text: "here" in text)
        self.interrupt()
        cell.end()
        self.run("r.run(lambda: 1 / 0)")
        self.run(HEALTHY)
        return self.holds()

    def holds(self) -> dict[str, int]:
        """How many of everything that can leak the kernel holds now."""
        process, below = psutil.Process(self.pid), self.below()
        return {
            "descriptors": sum(kind != "anon_inode:[eventfd]" for kind in self._descriptors()),
            "threads": process.num_threads(),
            "processes": len(below),
            "listening ports": sum(c.status == psutil.CONN_LISTEN for c in process.net_connections("tcp")),
            "temporary files": sum(1 for _ in self.scratch.rglob("*")),
            "shared memory": len(shared_memory([self.pid, *(child.pid for child in below)])),
        }

    def more_than(self, before: dict[str, int]) -> dict[str, int]:
        """Of what the kernel holds more now than then."""
        return {kind: now - before[kind] for kind, now in self.holds().items() if now > before[kind]}

    def _descriptors(self) -> list[str]:
        """What every open descriptor leads to. Jupyter keeps an eventfd for every thread that ever printed; we use none."""
        found = []
        for fd in Path(f"/proc/{self.pid}/fd").iterdir():
            with contextlib.suppress(OSError):  # closed meanwhile
                found.append(str(fd.readlink()))
        return found

    def rss(self) -> int:
        """Bytes of memory resident."""
        return psutil.Process(self.pid).memory_info().rss


class Cell:
    """The output of a running cell."""

    def __init__(self, client, message: str):
        self.client, self.message = client, message
        self.text = self.error = ""
        self.shown: list[str] = []  # an error as the notebook draws it
        self.busy = True

    def read(self) -> None:
        got = self.client.get_iopub_msg(timeout=PATIENCE)
        if got["parent_header"].get("msg_id") != self.message:
            return
        content = got["content"]
        self.text += content.get("text", "") if got["msg_type"] == "stream" else ""
        if got["msg_type"] == "error":
            self.error = f"{content['ename']}: {content['evalue']}"
            self.shown = content["traceback"]
        self.busy = content.get("execution_state") != "idle"

    def end(self) -> Cell:
        while self.busy:
            self.read()
        return self


def all_gone(pids: list[int], seconds: float) -> bool:
    """Is none of these processes alive after at most so many seconds? A zombie is dead: its parent has yet to look."""
    end = time.monotonic() + seconds
    while any(map(alive, pids)):
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def alive(pid: int) -> bool:
    """Does it run, or could it again?"""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
