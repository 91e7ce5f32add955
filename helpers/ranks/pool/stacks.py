"""What a rank executes at this moment, by its own faulthandler: no GIL is needed, no thread, and nothing is disturbed. Chapter: hangs.

A signal makes faulthandler write the stack to the rank's file in the private directory. Its handler asks for SA_RESTART, so a
system call goes on afterwards, and what the kernel never restarts (a sleep, an epoll_wait) Python and Gloo repeat by themselves.
Code that calls the C library's sleep itself, as ctypes may, is woken early: a status that asks for stacks would end what it looks at.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import psutil

from helpers.ranks.worker import life

from .launch import Member

_KEEP = 1 << 16  # bytes of old stacks in a file before it is emptied


def ask_stacks(members: list[Member], seconds: float = 0.3) -> dict[int, str]:
    """What each of these ranks is executing now, innermost frame first. A stopped rank does not answer. Hold the team's lock."""
    seen = {m.rank: _emptied(m.stack_path) for m in members if m.stack_path.exists()}
    for member in members:
        if member.rank in seen and member.process.is_alive():
            with suppress(ProcessLookupError):  # it ended since
                os.kill(member.process.pid, life.STACK_SIGNAL)
    texts: dict[int, str] = {}
    for _ in range(int(seconds / 0.02)):
        if seen.keys() <= {rank for rank, text in texts.items() if text.endswith("\n") and "File" in text}:
            break
        time.sleep(0.02)
        texts = {m.rank: _read(m.stack_path, seen[m.rank]) for m in members if m.rank in seen}
    return texts


def last_stack(member: Member) -> str:
    """What a rank that died of a signal executed then; "" when the kernel gave it no time to say so."""
    text = _read(member.stack_path, 0) if member.stack_path.exists() else ""
    return text[text.rfind("Fatal Python error") :] if "Fatal Python error" in text else ""


def stopped(member: Member) -> bool:
    """True when a signal (SIGSTOP) keeps the rank from running; a debugger's halt does not count."""
    try:
        return psutil.Process(member.process.pid).status() == psutil.STATUS_STOPPED
    except psutil.NoSuchProcess:
        return False


def _read(path: Path, start: int) -> str:
    with path.open("rb") as file:
        file.seek(start)
        return file.read().decode(errors="replace")


def _emptied(path: Path) -> int:
    """Where the next stack will begin."""
    size = path.stat().st_size
    if size < _KEEP:
        return size
    os.truncate(path, 0)
    return 0
