"""Starting torchrun for a test: one or more "nodes", each a torchrun of its own. No process is left when `run` returns.

`warm_run` is what most tests need: the same ranks from a process that has torch in it already.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import psutil
import warm

ROOT = Path(__file__).parents[2]
SET_BY_LAUNCHERS = ("RANK", "WORLD_SIZE", "MASTER_", "LOCAL_", "GROUP_", "TORCHELASTIC", "SLURM_", "GLOO_", "NCCL_")


class Ended(NamedTuple):
    """How one torchrun ended."""

    code: int
    out: str
    err: str


def warm_run(
    *arguments: str, nproc: int, nnodes: int = 1, loaded: tuple[str, ...] = (), looks: float = 0.1, **env: str
) -> Ended:
    """The ranks that `torchrun --nnodes nnodes --nproc-per-node nproc --monitor-interval looks arguments` would start."""
    ranks = {"nranks": nproc * nnodes, "nnodes": nnodes, "loaded": loaded, "looks": looks}
    done = warm.run(*arguments, **ranks, OMP_NUM_THREADS="1", **env)
    return Ended(done.returncode, done.stdout, done.stderr)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(
    *arguments: str,
    nproc: int,
    nodes: Sequence[tuple[list[str], dict[str, str]]] = (([], {}),),
    address: str = "127.0.0.1",
    timeout: float = 100,
) -> list[Ended]:
    """torchrun `arguments` with nproc ranks on each node. nodes: (what to put before the command, further environment)."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(SET_BY_LAUNCHERS)} | {"OMP_NUM_THREADS": "1"}
    port = free_port()
    started = [
        subprocess.Popen(
            [
                *prefix,
                *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(nproc)),
                *("--nnodes", str(len(nodes)), "--node-rank", str(node)),
                *("--master-addr", address, "--master-port", str(port), *arguments),
            ],
            cwd=ROOT,
            env=clean | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for node, (prefix, env) in enumerate(nodes)
    ]
    try:
        said = [process.communicate(timeout=timeout) for process in started]
    finally:
        for process in started:
            _end(process)
    return [Ended(process.returncode, *texts) for process, texts in zip(started, said, strict=True)]


def _end(process: subprocess.Popen) -> None:
    """Also when a test was interrupted or timed out: torchrun's ranks are sessions of their own, so each is ended by its id."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
    process.kill()
    process.wait()
