"""What one rank does from its first instruction to its last. Preloaded by the forkserver. Chapters: ranks, hangs.

Order matters: first the promise to die with the parent, then the pipes, then the environment, then the group.
"""

from __future__ import annotations

import faulthandler
import mmap
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TextIO

import torch
import torch.distributed as dist

from helpers.ranks.hooks import noting, streams
from helpers.ranks.hooks.completion import Completion
from helpers.ranks.network import emulate
from helpers.ranks.notes import notes, reader_lines
from helpers.ranks.wire import pack

from . import inside, joining, mortal

STACK_SIGNAL = signal.SIGUSR1
FIT_WITHIN = 0.2  # seconds in which a rank that raised must have completed what it enqueued
SHOWN = 24  # frames of the reader's own code in a message
SHIPPED = ("NCCL_", "GLOO_", "OMP_", "TORCH_", "CUDA_", "PYTORCH_")  # a forkserver froze these when it started


@dataclass(frozen=True)
class Seat:
    """All that a rank is told at birth. `scratch` is the pool's private directory: rendezvous, notes and stacks."""

    rank: int
    nranks: int
    backend: str
    device: str
    env: dict[str, str]
    scratch: str
    timeout: float
    shared: bool  # its GPU serves other ranks too
    link: object | None  # the network to emulate: a Link, or a topology with link(src, dst)
    call: Connection  # calls in, answers out
    output: Connection  # everything written to stdout and stderr
    control: Connection  # never carries a byte: its end is the rank's end

    @property
    def notes_path(self) -> Path:
        return Path(self.scratch, "notes")

    @property
    def stack_path(self) -> Path:
        return Path(self.scratch, f"stack-{self.rank}")


@dataclass(frozen=True)
class Raised:
    """An exception on its way to the notebook, as text; `pickled` is the exception itself where it can be pickled."""

    type_name: str
    message: str
    trimmed: str  # the reader's own frames
    full: str
    from_torch: bool  # raised inside torch: perhaps only the consequence of another rank's failure
    pickled: bytes | None
    broken: bool = False  # this rank cannot go on


def main(seat: Seat) -> None:
    """The body of the process: become a rank, then serve calls until the control pipe closes."""
    mortal.die_with(seat.control)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    multiprocessing.current_process().daemon = False  # it may have children, as under torchrun: a DataLoader's workers
    multiprocessing.set_start_method(None, force=True)  # Python's default, not the one by which it was started itself
    _redirect(seat)
    _set_environment(seat.env)
    lock, rank = threading.Lock(), os.getpid()

    def send(*message: object) -> None:
        if os.getpid() != rank:
            raise RuntimeError("emit() works in the rank itself, not in a process that it has forked")
        with lock:
            seat.call.send_bytes(pickle.dumps(message))

    inside.become_rank(lambda obj: send("emit", pack.dumps(obj)), seat.rank, seat.nranks)
    noter = None
    try:
        noter = _take_notes(seat)
        inside.share(seat.shared)
        inside.count_into(noter.writer.steps)
        _join(seat)
        noter.writer.met()
    except BaseException as error:
        return send("raised", as_raised(error), False)
    send("done", pickle.dumps(None), False)
    while True:
        answer = _serve(seat.call.recv_bytes(), noter)
        if os.getpid() != rank:  # a process forked in the call, which did not end there
            _end_fork(*answer)
        send(*answer)


def _serve(message: bytes, noter: noting.Noter) -> tuple:
    """One call: ("done", result) or ("raised", Raised), and whether `here` holds anything."""
    noter.new_call()
    try:
        fn, args, kwargs = pack.unpack_call(message)
        result = fn(*args, **kwargs)
        noter.completion.settle()
        answer = "done", pack.dumps(result)
    except BaseException as error:  # SystemExit too: a rank that leaves early has failed
        answer = "raised", replace(as_raised(error), broken=not _fit(noter.completion))
    finally:
        _flush()
    return *answer, bool(vars(inside.here))


def _end_fork(kind: str, body: object, *_: object) -> None:
    """It has no one to answer to: it ends with its function, as a script's fork ends with the script."""
    if kind == "raised":
        sys.stderr.write(body.full)
    os._exit(kind == "raised")


def _fit(completion: Completion) -> bool:
    """After an exception: is everything enqueued complete, and the GPU well? If not, this rank must not serve another call."""
    try:
        return completion.settle(limit=FIT_WITHIN)
    except Exception:  # a CUDA error stays: every later call would give it again
        return False


def _flush() -> None:
    """The call's last words; a stream that the call has closed is opened again."""
    for fd, name in ((1, "stdout"), (2, "stderr")):
        try:
            getattr(sys, name).flush()
        except (ValueError, OSError, AttributeError):
            setattr(sys, name, _text_stream(fd))


def _redirect(seat: Seat) -> None:
    """stdout and stderr into the parent's pipe, C++'s too; stdin from nowhere; stacks to a file on a signal."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(seat.output.fileno(), 1)
    os.dup2(seat.output.fileno(), 2)
    seat.output.close()
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  lives as long as the process
    sys.stdout, sys.stderr = _text_stream(1), _text_stream(2)
    seat.stack_path.touch(0o600)
    stacks = seat.stack_path.open("a")  # appended: the parent may empty it
    faulthandler.register(STACK_SIGNAL, file=stacks, all_threads=False)
    faulthandler.enable(file=stacks, all_threads=False)  # a rank that dies of a signal leaves its last line


def _text_stream(fd: int) -> TextIO:
    return open(fd, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)


def _set_environment(env: dict[str, str]) -> None:
    for name in [name for name in os.environ if name.startswith(SHIPPED) and name not in env]:
        del os.environ[name]
    os.environ.update(env)


def _take_notes(seat: Seat) -> noting.Noter:
    if seat.link is not None:  # below the notes: a collective is noted, not the messages that it is played by
        emulate.install(seat.link, seat.rank, seat.nranks, seat.scratch)
    with seat.notes_path.open("r+b") as file:
        shared = memoryview(mmap.mmap(file.fileno(), 0))
    region = shared[seat.rank * notes.REGION : (seat.rank + 1) * notes.REGION]
    on_gpu = seat.backend == "nccl"
    completion = streams.StreamCompletion(streams.Cuda(seat.device)) if on_gpu else Completion()
    return noting.install(notes.Writer(region, seat.rank), completion, torch.device(seat.device).type)


def _join(seat: Seat) -> None:
    """Ranks find each other through a file, so no port is opened for it."""
    dist.set_debug_level_from_env()  # torch has read TORCH_DISTRIBUTED_DEBUG already, in the server
    device = torch.device(seat.device)
    joining.settle_in(device)
    store = dist.FileStore(str(Path(seat.scratch, "store")), seat.nranks)
    limit = joining.torch_timeout(seat.timeout, watched=True)
    joining.join(seat.backend, device, limit, store=store, rank=seat.rank, world_size=seat.nranks)


def as_raised(error: BaseException) -> Raised:
    frames = traceback.extract_tb(error.__traceback__)
    return Raised(
        type_name=type(error).__name__,
        message=_text(error),
        trimmed=_trimmed(error),
        full="".join(traceback.format_exception(error)),
        from_torch=bool(frames) and not reader_lines.own(frames[-1].filename),
        pickled=_pickled(error),
    )


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:
        return f"<its text cannot be made: {type(broken).__name__}>"


def _pickled(error: BaseException) -> bytes | None:
    try:
        return pack.dumps(error.with_traceback(None))
    except (Exception, SystemExit):
        return None


def _trimmed(error: BaseException) -> str:
    """The traceback's frames that lie in the reader's own code, with their lines; the cell's name instead of its file's."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if reader_lines.own(f.filename)]
    lines = traceback.StackSummary.from_list(
        [(reader_lines.place(f.filename), f.lineno, f.name, f.line) for f in frames]
    ).format()
    if len(lines) > SHOWN:  # a recursion through several functions, which `format` does not fold
        lines[SHOWN // 2 : -SHOWN // 2] = [f"  ... {len(lines) - SHOWN} frames left out ...\n"]
    return "".join(lines)
