"""The clean process that ranks are forked from: it has imported torch and nothing of the notebook's. Chapter: ranks."""

from __future__ import annotations

import multiprocessing
import signal

from . import scratch

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
    from multiprocessing import forkserver, resource_tracker

    ctx.set_forkserver_preload(PRELOAD)
    resource_tracker.ensure_running()  # it unblocks the signal when it starts, so it starts before
    blocked = signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGINT}
    )  # children inherit it: no interrupt reaches them
    try:
        with scratch.working_for_us():
            forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
