"""Processes that have ranks and come to harm: interrupted, killed, or with CUDA already started.

python -m tools.gpu.parents stuck|used BACKEND NRANKS
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import TextIO

import torch
import torch.distributed as dist

from helpers.ranks import Ranks, emit

answers: TextIO = sys.stdout


def say(**words: object) -> None:
    """One line to whoever started us."""
    print(json.dumps(words), file=answers, flush=True)


def wait_in_a_circle() -> None:
    """Every rank receives from the next, and nobody sends."""
    emit(os.getpid())
    dist.recv(torch.ones(4), (dist.get_rank() + 1) % dist.get_world_size())


def total() -> float:
    """A healthy call."""
    x = torch.ones(4)
    dist.all_reduce(x)
    return x.sum().item()


def stuck(backend: str, nranks: int) -> None:
    """All ranks wait for ever; an interrupt must end that. And then again, until the parent is killed."""
    with Ranks(nranks, backend=backend, timeout=300.0) as ranks:
        ranks.run(total)
        while True:
            pids: list[int] = []
            threading.Thread(target=tell, args=(pids, nranks), daemon=True).start()
            try:
                ranks.run(wait_in_a_circle, on_emit=lambda rank, pid, pids=pids: pids.append(pid))
            except KeyboardInterrupt:
                say(interrupted=True)
            say(total=ranks.run(total)[0])


def tell(pids: list[int], nranks: int) -> None:
    """Once all ranks are on their way into the circle."""
    while len(pids) < nranks:
        time.sleep(0.01)
    time.sleep(0.5)  # and have arrived
    say(pids=pids)


def used(backend: str, nranks: int) -> None:
    """This process computes on the ranks' device before it starts them: with a fork, that would break CUDA or hang OpenMP."""
    device = "cuda" if backend == "nccl" else "cpu"
    a = torch.ones(1000, 1000, device=device)
    before = (a @ a).sum().item()
    with Ranks(nranks, backend=backend) as ranks:
        totals = ranks.run(total)
    say(total=totals[0], before=before, after=(a @ a).sum().item())


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what ranks print, and what NCCL and torch say of them, is no answer
    {"stuck": stuck, "used": used}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
