"""Hang reports in any torch.distributed job, on one machine or many: `hangs.watch()` after init_process_group. Chapter: hangs.

    torchrun --nproc-per-node 4 -m helpers.ranks.hangs train.py ARGS     # the same without a change of train.py

A thread in every rank looks at the rank's own notes. When a rank is inside one collective for too long, or raises, all ranks
exchange what they are doing through the job's own store, one of them writes the report, and all end with exit code 1, so that
the launcher ends the job. No port is opened for this.

What it cannot know: a rank that has died elsewhere or holds Python's lock (the GIL) cannot answer, and is reported so; of which
signal a rank has died, the launcher says. When the store itself is gone (rank 0 keeps it, unless torchrun does), each rank says what
it knows of itself. A launcher that ends the other ranks at once, as torchrun does when one dies, may come before the report.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import gc
import os
import runpy
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from helpers.patches import JOINING
from helpers.ranks.hooks import noting, streams
from helpers.ranks.hooks.completion import Completion
from helpers.ranks.notes import notes
from helpers.ranks.worker.life import as_raised

from . import verdict
from .pauses import Pauses
from .positions import ENDED, GONE, Position, compose, of_dead, without_ended

TICK = 0.05  # seconds between a rank's looks at its notes and at the alarm; the store serves 1000 looks a second
ANSWER = 2.0  # seconds that a rank has to answer an alarm
SETTLE = 0.25  # and to come to where it stays: when another raises, it may be about to leave a call
EXIT_CODE = 1
_watcher: Watcher | None = None


def watch(timeout: float = 10.0) -> None:
    """Report when a collective takes more than `timeout` seconds on this rank, or another rank asks; then end the process.

    Call it on every rank, at the same place, after init_process_group. A second call only changes the timeout. Raises RuntimeError
    without a process group, ValueError for a timeout that is not a number above 0.
    """
    global _watcher
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not timeout > 0:
        raise ValueError(f"timeout is a number of seconds above 0, got {timeout!r}")
    if not dist.is_initialized():
        raise RuntimeError("hangs.watch() follows init_process_group: this process is in no group yet")
    if _watcher is None:
        _watcher = Watcher(timeout)
        _watcher.start()
    _watcher.timeout = timeout


class Watcher:
    """One rank's notes and the thread that looks at them."""

    def __init__(self, timeout: float):
        self.timeout, self.rank, self.nranks = timeout, dist.get_rank(), dist.get_world_size()
        self._region = memoryview(bytearray(notes.REGION))
        # A connection of its own: never busy
        self._store = dist.PrefixStore("hangs", c10d._get_default_store().clone())
        self._main = threading.main_thread().ident
        self._every = max(TICK, self.nranks / 1000)
        self._pauses = Pauses(self._every)
        self._reporting, self._over = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._watch, name="hangs", daemon=True)
        self._store.set(f"process/{self.rank}", f"{_machine()} {os.getpid()}")

    def start(self) -> None:
        """Take notes from now on, look at them, and hear of exceptions."""
        on_gpu = "nccl" in dist.get_backend()
        device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")
        completion = streams.StreamCompletion(streams.Cuda(device)) if on_gpu else Completion()
        noter = noting.install(notes.Writer(self._region, self.rank), completion, device.type, everywhere=True)
        if _ddp_made():
            noter.reducer.install()
        sys.excepthook = self._hearing(sys.excepthook)
        atexit.register(self._leave)
        self._thread.start()

    def position(self) -> Position:
        """What this rank is doing at this moment."""
        journal = notes.read(self._region)
        return Position("stuck", verdict.pending_text(journal, self._stack()), journal=journal)

    # the thread ----------------------------------------------------------------------------------------------------------
    def _watch(self) -> None:
        while not self._over.wait(self._every):
            self._pauses.look(time.monotonic())
            try:
                if self._late() or self._store.check(["alarm"]):
                    self._report(self.position(), f"no progress for {self.timeout:g} s" if self._late() else "")
            except dist.DistError:
                if not self._late():  # the others have gone: no harm if this rank needs nobody
                    continue
                self._alone(self.position())

    def _late(self) -> bool:
        note = notes.read(self._region).inside
        return note is not None and self._pauses.waited(note.since, time.monotonic()) > self.timeout

    def _stack(self) -> str:
        """The main thread's frames, innermost first, as faulthandler writes them."""
        frame, lines = sys._current_frames().get(self._main), []
        while frame is not None:
            lines.append(f'File "{frame.f_code.co_filename}", line {frame.f_lineno} in {frame.f_code.co_name}')
            frame = frame.f_back
        return "\n".join(lines)

    # an exception, and a quiet end ---------------------------------------------------------------------------------------
    def _hearing(self, original: Callable) -> Callable:
        def hook(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
            if issubclass(kind, KeyboardInterrupt):
                return original(kind, error, tb)
            position = self._raised(error.with_traceback(tb))
            self._first_word(position)
            original(kind, error, tb)
            try:
                return self._report(position, "")
            except dist.DistError:
                return self._alone(position)

        return hook

    def _raised(self, error: BaseException) -> Position:
        raised, journal = as_raised(error), notes.read(self._region)
        if verdict.is_consequence(raised):
            return Position("consequence", verdict.lost_text(journal), journal=journal)
        text = f"raised {raised.type_name}: {raised.message}".rstrip(": ")
        return Position("raised", text, raised.trimmed, journal)

    def _first_word(self, position: Position) -> None:
        """At once: a launcher that has seen a death ends the others within a tenth of a second; this one takes 2 s to end."""
        with contextlib.suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with contextlib.suppress(dist.DistError):
            self._store.set(f"rank/{self.rank}", position.dump())
            self._store.set("alarm", "")
        if position.kind == "consequence":
            os.write(2, f"[rank {self.rank}] {position.text}\n".encode())

    def _leave(self) -> None:
        """At a quiet end: tell those who may still wait for this rank. A thread inside C++ would abort an interpreter that ends."""
        self._over.set()
        self._thread.join(4 * ANSWER)
        try:
            self._store.set(
                f"rank/{self.rank}", Position("finished", "finished", journal=notes.read(self._region)).dump()
            )
        except dist.DistError:
            return

    # the report ----------------------------------------------------------------------------------------------------------
    def _report(self, mine: Position, why: str) -> None:
        """Tell the others, gather what they tell, write it down if nobody else does; never returns."""
        with self._reporting:  # the thread and an exception may come at once
            self._store.set(f"rank/{self.rank}", mine.dump())
            self._store.set("alarm", "")
            if self._store.add("reporters", 1) == 1:
                self._write(compose(self._gathered(), why))
                self._store.set("reported", "")
            else:
                self._stand_by(mine)
            self._end()

    def _stand_by(self, mine: Position) -> None:
        """Until the report is written; who is still on the way tells where he has come to."""
        end = time.monotonic() + 2 * ANSWER
        while not self._store.check(["reported"]) and time.monotonic() < end:
            if mine.kind == "stuck" and (now := self.position()).text != mine.text:
                self._store.set(f"rank/{self.rank}", now.dump())
                mine = now
            time.sleep(TICK / 5)

    def _gathered(self) -> list[Position | None]:
        """Every rank's position, in rank order; None for those that did not answer in time."""
        end, found, first = time.monotonic() + ANSWER, [None] * self.nranks, True
        while time.monotonic() < end and not all(found):
            for rank in [rank for rank, position in enumerate(found) if position is None]:
                if self._store.check([f"rank/{rank}"]):
                    found[rank] = Position.load(self._store.get(f"rank/{rank}"))
                elif dead := self._dead(rank):
                    found[rank] = dead if first or dead != GONE else ENDED
            first = False
            time.sleep(TICK / 5)
        return without_ended(self._settled(found))

    def _settled(self, found: list[Position | None]) -> list[Position | None]:
        """The same, a moment later."""
        if not any(position and position.kind in ("raised", "finished") for position in found):
            return found
        time.sleep(SETTLE)
        stuck = [rank for rank, position in enumerate(found) if position and position.kind == "stuck"]
        later = {rank: Position.load(self._store.get(f"rank/{rank}")) for rank in stuck if rank != self.rank}
        return [later.get(rank, position) for rank, position in enumerate(found)]

    def _dead(self, rank: int) -> Position | None:
        """How its process has ended: known only on this machine."""
        machine, pid = self._store.get(f"process/{rank}").decode().rsplit(maxsplit=1)
        return of_dead(int(pid)) if machine == _machine() else None

    def _alone(self, mine: Position) -> None:
        """The store does not answer: whoever kept it, rank 0 or the launcher, is gone."""
        with self._reporting:
            self._write(
                f"rank {self.rank} {mine.text}\nthe job's store does not answer: rank 0 or the launcher is gone"
            )
            self._end()

    def _write(self, text: str) -> None:
        """In one write, so that other processes' lines cannot come between."""
        os.write(2, f"[rank {self.rank}] hang report\n{text}\n".encode())

    def _end(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(EXIT_CODE)


def _machine() -> str:
    """Where a process id means the same process: containers may share a host's name."""
    try:
        return f"{socket.gethostname()} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:  # not Linux
        return socket.gethostname()


def _ddp_made() -> bool:
    """Is there a DistributedDataParallel already? Then nobody will hear of the first that is made."""
    return any(issubclass(type(found), torch.nn.parallel.DistributedDataParallel) for found in gc.get_objects())


def main(arguments: list[str] | None = None) -> None:
    """Run a script as `python script.py` would, with `watch` called as soon as it has joined its group."""
    parser = argparse.ArgumentParser(prog="python -m helpers.ranks.hangs", description=main.__doc__)
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds in one collective before the report (10)")
    parser.add_argument("script", type=Path)
    parser.add_argument("args", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    if not options.script.is_file():
        parser.error(f"there is no file {options.script}")
    if not options.timeout > 0:
        parser.error(f"--timeout is a number of seconds above 0, got {options.timeout:g}")
    _watch_at_start(options.timeout)
    sys.argv = [str(options.script), *options.args]
    sys.path[0] = str(options.script.resolve().parent)
    runpy.run_path(str(options.script), run_name="__main__")


def _watch_at_start(timeout: float) -> None:
    original = c10d.init_process_group

    def init_process_group(*args: object, **kwargs: object) -> None:
        original(*args, **kwargs)
        watch(timeout)

    for module in (c10d, dist):
        JOINING.put(module, "init_process_group", init_process_group)
