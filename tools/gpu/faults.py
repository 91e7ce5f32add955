"""Ranks that die, hang, disagree, are interrupted or orphaned: who is named, how fast, and what is left."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable

import torch
import torch.distributed as dist

from . import kept
from .place import TIMEOUT, Place, frees_gpus, gone, healthy_again

SOON = 5.0  # seconds: five times what a report may take after its cause, a guard against hangs; ending the ranks is not in it


def healthy() -> float:
    x = torch.ones(4)
    dist.all_reduce(x)
    return x.sum().item()


def last() -> bool:
    return dist.get_rank() == dist.get_world_size() - 1


def dies() -> None:
    """The last rank, while the others wait for it."""
    if last():
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(torch.ones(1024))


def raises() -> None:
    if last():
        raise ValueError("boom")
    dist.all_reduce(torch.ones(1024))


def all_raise() -> None:
    dist.all_reduce(torch.ones(1024))
    raise ValueError("boom")


def skips() -> None:
    """The last rank sleeps instead of entering."""
    if last():
        time.sleep(60)
    dist.all_reduce(torch.ones(1024))


def skips_and_looks() -> None:
    """As `skips`, and the others ask for the result: blocked in C++, behind a kernel that never ran before."""
    if last():
        time.sleep(60)
    x = torch.ones(1024)
    dist.all_reduce(x)
    torch.cumsum(x, 0)[-1].item()


def never_waits() -> None:
    """A handle that nobody waits for, of a collective that the last rank never enters."""
    if last():
        time.sleep(60)
    dist.all_reduce(torch.ones(1024), async_op=True)


def differs() -> None:
    """One rank broadcasts where the others reduce."""
    dist.all_reduce(torch.ones(1024))
    if last():
        dist.broadcast(torch.ones(1024), 0)
    else:
        dist.all_reduce(torch.ones(1024))


def differs_in_size() -> None:
    dist.all_reduce(torch.ones(512 if last() else 1024))


def returns_early() -> None:
    if not last():
        dist.all_reduce(torch.ones(1024))


def _pid() -> int:
    return os.getpid()


def death(place: Place) -> dict:
    return _fault(place, dies, "died", "SIGKILL", 0.2)


def exception(place: Place) -> dict:
    return _fault(place, raises, "raised", "ValueError: boom")


def exception_everywhere(place: Place) -> dict:
    """The ranks are sound after it: they stay, and NCCL's start is not paid again."""
    with place.pair() as ranks:
        pids = ranks.run(_pid)
        error, seconds, _ = place.fails(ranks, all_raise)
        assert error.sound, "all ranks raised after the same collective: they are sound"
        assert ranks.run(_pid) == pids, "sound ranks were replaced"
        return {"seconds": seconds, "next call": healthy_again(ranks, healthy)}


def skipped(place: Place) -> dict:
    return _fault(place, skips, "stuck", "waiting in all_reduce #1 of float32[1024]", TIMEOUT)


def skipped_and_read(place: Place) -> dict:
    return _fault(place, skips_and_looks, "stuck", "waiting in all_reduce #1 of float32[1024]", TIMEOUT)


def handle_unwaited(place: Place) -> dict:
    return _fault(place, never_waits, "stuck", "all_reduce #1 of float32[1024]", TIMEOUT)


def mismatched(place: Place) -> dict:
    return _fault(place, differs, "mismatch", "broadcast #2 of float32[1024]")


def mismatched_size(place: Place) -> dict:
    return _fault(place, differs_in_size, "mismatch", "float32[512]")


def left_early(place: Place) -> dict:
    return _fault(place, returns_early, "stuck", "finished")


def _fault(place: Place, fn: Callable, kind: str, said: str, after: float = 0.0) -> dict:
    """The right kind of error, naming the right rank, within SOON of its cause, which comes `after` seconds.

    Nothing of the ranks is left then, and the next call works.
    """
    with place.pair() as ranks:
        ranks.run(healthy)
        pids = ranks.run(_pid)
        error, seconds, kill = place.fails(ranks, fn)
        assert error.root.kind == kind, f"{error.root.kind} instead of {kind}:\n{error}"
        assert said in str(error), f"{said!r} is not in:\n{error}"
        if kind in ("died", "raised"):
            assert error.root.rank == ranks.nranks - 1, f"rank {error.root.rank} is named:\n{error}"
        assert seconds < after + SOON, f"it took {seconds:.1f} s"
        if not error.sound:
            gone(pids)
            frees_gpus(pids)
        found = {"seconds": max(0.0, seconds - after), "kill": kill}
        return found | {"next call": healthy_again(ranks, healthy)}


def interrupt(place: Place) -> dict:
    """SIGINT to the parent while all ranks are blocked: they are gone, the parent lives, and starts new ones."""
    with kept.parent(place.python) as parent:
        pids = json.loads(parent.stdout.readline())["pids"]
        began = time.monotonic()
        parent.send_signal(signal.SIGINT)
        assert json.loads(parent.stdout.readline()) == {"interrupted": True}
        gone(pids, SOON * 2)
        seconds = time.monotonic() - began
        frees_gpus(pids)
        assert json.loads(parent.stdout.readline()) == {"total": 8.0}
        return {"seconds": seconds, "next call": time.monotonic() - began - seconds}


def orphans(place: Place) -> dict:
    """SIGKILL to the parent while all ranks are blocked: no rank is left, and no GPU memory held."""
    with kept.parent(place.python) as parent:
        pids = json.loads(parent.stdout.readline())["pids"]
        parent.kill()
        seconds = gone(pids, SOON)
        frees_gpus(pids)
    kept.close()
    return {"seconds": seconds}


def used_before(place: Place) -> dict:
    """The parent computed on its device first: the ranks are well, and so is the parent after them."""
    parent = place.python("used")
    try:
        said = json.loads(parent.stdout.readline())
        assert said["total"] == 8.0 and said["before"] == said["after"] > 0, said
        assert parent.wait(30) == 0
        return {}
    finally:
        kept.end(parent)
