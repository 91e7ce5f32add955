"""Starting ranks and ending them. Chapter: ranks.

Workers are forked from a clean server that has already imported torch, never from the notebook, whose threads and CUDA
would not survive it. They have one way to end: the parent closes their control pipe, and the kernel kills them.
"""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import selectors
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import connection, spawn
from pathlib import Path

from helpers.patches import MAIN
from helpers.ranks.machine import limits, scratch, server
from helpers.ranks.machine.devices import World
from helpers.ranks.machine.loopback import loopback
from helpers.ranks.notes import notes
from helpers.ranks.wire.output import Output
from helpers.ranks.wire.wire import Wire
from helpers.ranks.worker import joining, life

from .interrupts import Apart, Hold

PATIENCE = 10.0  # seconds that a killed process may take to end
UNBORN = 1.0  # seconds that `kill` waits for a start under way; longer takes only a server that still imports torch
_starting = threading.Lock()


@dataclass
class Member:
    """The parent's view of one rank."""

    rank: int
    process: multiprocessing.process.BaseProcess
    call: Wire
    control: connection.Connection
    output: Output
    output_end: connection.Connection
    region: memoryview
    stack_path: Path


class Team:
    """The processes of one start and every pipe to them. They die together; what replaces them is a new Team.

    `lock` guards the life of the processes: who asks for an exit code, a stack or a note holds it, and so does `kill`.
    """

    def __init__(self, world: World, env: dict[str, str], timeout: float, link: object | None = None):
        self.world, self.timeout, self.link = world, timeout, link
        self.members: list[Member] = []
        self.ready = False  # all ranks have met
        self.here_used = False
        self.calls = 0
        self.began = time.monotonic()
        self.lock = threading.RLock()
        self._owner = os.getpid()
        self._open: list[connection.Connection] = []
        limits.check_files(world.nranks)
        self._scratch, self._lock = scratch.make(world.nranks * notes.REGION)
        try:
            self._notes = mmap.mmap(self._lock, world.nranks * notes.REGION)
            self.selector = selectors.DefaultSelector()
        except OSError:
            scratch.remove(self._scratch, self._lock)
            raise
        self._env = env
        self._starting: Apart | None = None
        self._unwanted = False

    def start(self, hold: Hold) -> None:
        """Start every rank; they meet by themselves. Waits for the server's imports, where an interrupt may land.

        What raises here leaves a team to kill.
        """
        self._starting = Apart(self._start_all, "ranks-start")
        self._starting.run(hold, self._born)

    def journals(self) -> list[notes.Journal]:
        """What each rank has noted in the call that was sent last, in rank order."""
        return [notes.read(member.region, self.calls) for member in self.members]

    def _born(self, seconds: str) -> str:
        """What the start is at."""
        done = f"{len(self.members)} have" if self.members else "their server is importing torch, which is done once"
        return f"{self.world.nranks} ranks start{seconds}: {done}"

    def _start_all(self) -> None:
        """No rank is begun and not finished: half a message would make the server print of it, and leave its pipes open here."""
        try:
            with _somewhere():
                server.warm_up()
                for rank in range(self.world.nranks):
                    if self._unwanted:
                        break
                    self._start(rank)
        finally:
            if self._unwanted:  # `kill` may have come and gone
                self.kill()

    def _start(self, rank: int) -> None:
        ctx = server.context()
        call, call_end = self._pipe(ctx, duplex=True)
        output, output_end = self._pipe(ctx)
        control_end, control = self._pipe(ctx)
        seat = life.Seat(
            rank=rank,
            nranks=self.world.nranks,
            backend=self.world.backend,
            device=self.world.devices[rank],
            env=self._env_of(rank),
            scratch=str(self._scratch),
            timeout=self.timeout,
            shared=self.world.shared,
            link=self.link,
            call=call_end,
            output=output_end,
            control=control_end,
        )
        process = ctx.Process(target=life.main, args=(seat,), name=f"rank-{rank}", daemon=True)
        with _without_main():
            process.start()
        for end in (call_end, output_end, control_end):
            end.close()
        region = memoryview(self._notes)[rank * notes.REGION : (rank + 1) * notes.REGION]
        out = Output(output.fileno())
        wire = Wire(call)
        member = Member(rank, process, wire, control, out, output, region, seat.stack_path)
        self.members.append(member)
        for file, what in ((wire, "call"), (out.fd, "output"), (process.sentinel, "death")):
            self.selector.register(file, selectors.EVENT_READ, (member, what))

    def _env_of(self, rank: int) -> dict[str, str]:
        """What the caller asks for counts most, then what this world needs, then the notebook's own environment."""
        shipped = {k: v for k, v in os.environ.items() if k.startswith(life.SHIPPED)}
        nearby = dict.fromkeys(("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"), loopback())
        defaults = joining.nccl_settings(self.timeout, str(self._scratch)) if self.world.backend == "nccl" else {}
        return defaults | shipped | nearby | self.world.env(rank) | self._env

    def _pipe(
        self, ctx: multiprocessing.context.BaseContext, duplex: bool = False
    ) -> tuple[connection.Connection, ...]:
        ends = ctx.Pipe(duplex)
        self._open += ends
        return ends

    def unregister(self, file: object) -> None:
        """Stop listening to a pipe whose other end is closed."""
        with contextlib.suppress(KeyError):
            self.selector.unregister(file)

    def hang_up(self) -> None:
        """Every rank ends now; from any thread, while another one still listens to them and will hear of it."""
        with self.lock:
            for member in self.members:
                member.control.close()

    def kill(self) -> None:
        """No process, pipe or file of this team is left when this returns. May be called twice; a fork of the owner may not.

        Before the server has imported torch there is nothing to kill, and what is born then is ended at once.
        """
        if os.getpid() != self._owner:
            return
        self._unwanted = True
        if self._starting and not self._starting.over(UNBORN):
            return  # who starts will end what is there by then
        with self.lock:
            self._kill()

    def _kill(self) -> None:
        for end in self._open:
            end.close()
        patience = time.monotonic() + 1.0
        for member in self.members:
            member.process.join(max(0.0, patience - time.monotonic()))
            if member.process.exitcode is None:  # not Linux, and the GIL is held
                member.process.kill()
                member.process.join(PATIENCE)
            _close(member)
            member.region.release()
        self.members, self._open = [], []
        self.selector.close()
        if not self._notes.closed:
            self._notes.close()
            scratch.remove(self._scratch, self._lock)


def _close(member: Member) -> None:
    """Free what the parent keeps of it. Not even SIGKILL ends a process at once that its driver holds, as on a lost GPU."""
    if member.process.exitcode is not None:
        return member.process.close()
    pid = member.process.pid
    held = f"killed {PATIENCE:g} s ago: a driver holds it, or the machine is very busy"
    warnings.warn(f"rank {member.rank} (process {pid}) does not end, {held}", RuntimeWarning, stacklevel=2)
    return None


@contextlib.contextmanager
def _somewhere() -> Iterator[None]:
    """Ranks begin in the caller's folder; where that has been removed meanwhile, in the one for temporary files."""
    try:
        Path.cwd()
    except FileNotFoundError:
        gone = os.open(".", os.O_RDONLY)
        os.chdir(tempfile.gettempdir())
        try:
            yield
        finally:
            os.fchdir(gone)
            os.close(gone)
    else:
        yield


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Functions travel by value, so a child must not run the caller's script again, as multiprocessing would have it do."""
    with _starting:
        original = spawn.get_preparation_data

        def without_main(name: str) -> dict[str, object]:
            return {k: v for k, v in original(name).items() if not k.startswith("init_main")}

        with MAIN.during(spawn, "get_preparation_data", without_main):
            yield
