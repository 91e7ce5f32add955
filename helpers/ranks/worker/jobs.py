"""`with job() as j:` in a process that torchrun or srun started: it becomes a rank, as if `Ranks` had. Chapters: ranks, hangs.

Every function that runs in `Ranks.run` runs in here unchanged, on one machine or many. The ranks find each other through a
store that rank 0 keeps: torchrun's own, or under srun one at the first node's address, on a port that the job's id gives.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import json
import os
import socket
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from helpers.ranks.hangs.watching import watch
from helpers.ranks.machine.devices import find_gpus
from helpers.ranks.machine.launched import LOOPBACK, Launched, launched
from helpers.ranks.machine.loopback import loopback

from . import inside, joining

START_LIMIT = 120.0  # seconds for all ranks to meet
_jobs = itertools.count()  # a second job of a process starts with a clean part of the store


@dataclass(frozen=True)
class Job:
    """This process's place: rank of nranks, local_rank on its node, and what it runs on. str() is the label."""

    rank: int
    nranks: int
    local_rank: int
    local_nranks: int
    nnodes: int
    backend: str
    device: str
    label: str

    def __str__(self) -> str:
        return self.label


@contextlib.contextmanager
def job(timeout: float = 10.0) -> Iterator[Job]:
    """Join the job that this process was started in: process group, device, threads, op notes and hang reports.

    NCCL when every rank has a GPU of its own, else Gloo; on one node everything stays on the loopback interface, unless
    GLOO_SOCKET_IFNAME or NCCL_SOCKET_IFNAME say otherwise. timeout: seconds in one collective before the hang report. The ranks
    leave together. Raises RuntimeError in a process that is in no job or in a group already, ValueError for an environment that
    lacks something, TimeoutError naming the ranks that did not come.
    """
    place = _place()
    for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME") if place.nnodes == 1 else ():
        os.environ.setdefault(name, loopback())
    inside.become_rank(_printer(place.rank), place.rank, place.nranks, (place.local_rank, place.local_nranks))
    store = dist.PrefixStore(f"job/{next(_jobs)}", _store(place))
    gpu = _gpu(place)
    backend, on = choose(_exchanged(store, place, gpu and gpu[1:]), place)
    device = torch.device("cuda", gpu[0]) if backend == "nccl" else torch.device("cpu")
    joining.settle_in(device)
    limit = joining.torch_timeout(timeout)
    joining.join(backend, device, limit, store=store, rank=place.rank, world_size=place.nranks)
    watch(timeout)
    yield Job(place.rank, place.nranks, place.local_rank, place.local_nranks, place.nnodes, backend, str(device), on)
    dist.barrier()  # rank 0 keeps the store: it is the last to go
    dist.destroy_process_group()


def _place() -> Launched:
    if dist.is_initialized():
        raise RuntimeError("this process has a process group already: job() makes its own, once")
    if place := launched():
        return place
    raise RuntimeError(
        "job() joins a job that torchrun or srun started, and this process is in none (neither RANK and MASTER_ADDR"
        " nor SLURM_PROCID and SLURM_STEP_ID are set). Start it with torchrun --nproc-per-node 4, or use Ranks() in a notebook."
    )


def _printer(rank: int) -> Any:
    """What `emit` does here: one whole line, in one write."""

    def printed(obj: object) -> None:
        sys.stdout.write(f"[rank {rank}] {obj}\n")
        sys.stdout.flush()

    return printed


# meeting -----------------------------------------------------------------------------------------------------------------
def _store(place: Launched) -> dist.Store:
    """torchrun's store, or under srun one of ours; where all ranks are on one node it listens on the loopback interface alone."""
    limit = datetime.timedelta(seconds=START_LIMIT)
    if place.by == "torchrun":
        return next(dist.rendezvous("env://", place.rank, place.nranks, timeout=limit))[0]
    host, options = place.address, {"timeout": limit, "wait_for_workers": False}
    if place.rank == 0 and host == LOOPBACK:
        options |= {"master_listen_fd": _listening(place.port), "use_libuv": True}
    try:
        return dist.TCPStore(host, place.port, place.nranks, place.rank == 0, **options)
    except (dist.DistNetworkError, dist.DistStoreError) as error:
        raise TimeoutError(f"rank {place.rank} cannot reach the store at {host}:{place.port}: {error}") from error


def _listening(port: int) -> int:
    """A socket's descriptor, which the store then owns."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
    except OSError as error:
        listener.close()
        raise OSError(
            f"port {port}, which this job's id gives, is taken ({error}): set MASTER_PORT to another"
        ) from error
    listener.listen(1024)
    return listener.detach()


def _exchanged(store: dist.Store, place: Launched, gpu: tuple[str, str] | None) -> list[tuple[str, str] | None]:
    """Every rank's GPU as (uuid, name), in rank order. The first word between the ranks: it also waits for all of them."""
    store.set(f"gpu/{place.rank}", json.dumps(gpu))
    try:
        found = store.multi_get([f"gpu/{rank}" for rank in range(place.nranks)])
    except (dist.DistStoreError, dist.DistNetworkError) as error:
        missing = [rank for rank in range(place.nranks) if not store.check([f"gpu/{rank}"])]
        raise TimeoutError(f"ranks that did not come within {START_LIMIT:g} s: {missing}") from error
    return [gpu and tuple(gpu) for gpu in map(json.loads, found)]


# devices -----------------------------------------------------------------------------------------------------------------
def _gpu(place: Launched) -> tuple[int, str, str] | None:
    """(index, uuid, name) of the GPU that is this rank's, if there is one; Slurm may show every rank no other than its own."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if place.local_rank == 0 and (trouble := find_gpus().trouble):
        warnings.warn(trouble, RuntimeWarning, stacklevel=4)
    if not count or 1 < count < place.local_nranks:
        return None
    index = place.local_rank if count >= place.local_nranks else 0
    properties = torch.cuda.get_device_properties(index)
    return index, str(properties.uuid), properties.name


def choose(gpus: Sequence[tuple[str, str] | None], place: Launched) -> tuple[str, str]:
    """(backend, label), the same on every rank: NCCL when each has a GPU and no two share one, by the GPUs' own ids."""
    owned = {gpu[0] for gpu in gpus if gpu}
    ranks = f"{place.nranks} rank{'s' * (place.nranks > 1)}" + f" on {place.nnodes} nodes" * (place.nnodes > 1)
    if len(owned) < place.nranks:
        return "gloo", f"{ranks}, gloo, CPU"
    names = [name for _, name in gpus]
    return "nccl", f"{ranks}, nccl, " + ", ".join(f"{names.count(name)} x {name}" for name in sorted(set(names)))
