"""Who started this process: torchrun, srun or nobody, read from the environment alone. Chapter: ranks.

torchrun's own variables win: a Slurm script may well start one torchrun per node through srun.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

LOOPBACK = "127.0.0.1"
_TORCHRUN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_SRUN = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE", "SLURM_NODEID")
_FIRST_PORT, _PORTS, _STEPS = 12000, 20000, 16  # below 32768, where Linux hands out ports of its own accord


@dataclass(frozen=True)
class Launched:
    """This process's place in a job. address, port: where rank 0 keeps the store in which the ranks find each other."""

    by: str
    rank: int
    nranks: int
    local_rank: int
    local_nranks: int
    nnodes: int
    address: str
    port: int

    def __str__(self) -> str:
        return f"rank {self.rank} of {self.nranks}, started by {self.by}"


def launched(env: Mapping[str, str] = os.environ) -> Launched | None:
    """The place that torchrun (or whoever sets its variables) or srun gave this process; None for a process of its own.

    A process inside a Slurm allocation, but not in a step that srun started, is on its own too: the batch script is one.
    Raises ValueError naming the variables that are missing, or the one that is no whole number.
    """
    if "RANK" in env and "MASTER_ADDR" in env:
        return _by_torchrun(env)
    if "SLURM_PROCID" in env and "SLURM_STEP_ID" in env:
        return _by_srun(env)
    return None


def launcher(env: Mapping[str, str] = os.environ) -> str:
    """ "torchrun" or "srun" when it started this process beside others, else ""."""
    if "TORCHELASTIC_RUN_ID" in env and env.get("WORLD_SIZE", "1") != "1":
        return "torchrun"
    return "srun" if "SLURM_STEP_ID" in env and env.get("SLURM_STEP_NUM_TASKS", "1") != "1" else ""


def _by_torchrun(env: Mapping[str, str]) -> Launched:
    _need(env, _TORCHRUN, "torchrun")
    rank, nranks, local_rank, local_nranks = (_whole(env, name) for name in _TORCHRUN[:4])
    nnodes = _whole(env, "GROUP_WORLD_SIZE") if "GROUP_WORLD_SIZE" in env else -(-nranks // local_nranks)
    port = _whole(env, "MASTER_PORT")
    return Launched("torchrun", rank, nranks, local_rank, local_nranks, nnodes, env["MASTER_ADDR"], port)


def _by_srun(env: Mapping[str, str]) -> Launched:
    _need(env, _SRUN, "srun")
    per_node = tasks_per_node(env["SLURM_STEP_TASKS_PER_NODE"])
    node = _whole(env, "SLURM_NODEID")
    if node >= len(per_node):
        raise ValueError(
            f"SLURM_NODEID={node} is not a node of SLURM_STEP_TASKS_PER_NODE={env['SLURM_STEP_TASKS_PER_NODE']!r}"
        )
    return Launched(
        by="srun",
        rank=_whole(env, "SLURM_PROCID"),
        nranks=_whole(env, "SLURM_STEP_NUM_TASKS"),
        local_rank=_whole(env, "SLURM_LOCALID"),
        local_nranks=per_node[node],
        nnodes=len(per_node),
        address=env.get("MASTER_ADDR") or _address(env, len(per_node)),
        port=_whole(env, "MASTER_PORT") if "MASTER_PORT" in env else _port(env),
    )


def _address(env: Mapping[str, str], nnodes: int) -> str:
    """Rank 0 runs on the first node of the step, which need not be the first of the job."""
    if nnodes == 1:
        return LOOPBACK
    nodes = env.get("SLURM_STEP_NODELIST") or env.get("SLURM_JOB_NODELIST")
    if not nodes:
        raise ValueError("srun names the nodes in SLURM_STEP_NODELIST or SLURM_JOB_NODELIST; neither is set")
    return first_host(nodes)


def _port(env: Mapping[str, str]) -> int:
    """The same on every rank without a word between them; another for every job, and for 16 steps of a job at once."""
    job = _whole(env, "SLURM_JOB_ID") if "SLURM_JOB_ID" in env else 0
    return _FIRST_PORT + (job * _STEPS + _whole(env, "SLURM_STEP_ID") % _STEPS) % _PORTS


def first_host(nodelist: str) -> str:
    """The first host of Slurm's compressed list: "node[03-05,9],gpu1" -> "node03"; "rack[1-2]n[08,11]" -> "rack1n08".

    Raises ValueError when the list has no such form.
    """
    first = re.match(r"(?:[\w.-]+|\[[\d,-]+\])+", nodelist.strip())
    host = first and re.sub(r"\[(\d+)[^]]*\]", r"\1", first[0])
    if not host or "[" in host or nodelist.strip()[first.end() :][:1] not in ("", ","):
        raise ValueError(f"a list of hosts looks like node[03-05,9],gpu1, got {nodelist!r}")
    return host


def tasks_per_node(text: str) -> list[int]:
    """Slurm's compressed counts: "4(x2),3" -> [4, 4, 3]. Raises ValueError when the text has no such form."""
    counts = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part.strip())
        if not found:
            raise ValueError(f'tasks per node look like "4(x2),3", got {text!r}')
        counts += [int(found[1])] * int(found[2] or 1)
    return counts


def _need(env: Mapping[str, str], names: tuple[str, ...], by: str) -> None:
    if missing := [name for name in names if name not in env]:
        raise ValueError(f"{by} sets {', '.join(names)}; missing here: {', '.join(missing)}")


def _whole(env: Mapping[str, str], name: str) -> int:
    if not re.fullmatch(r"\d+", env[name].strip()):
        raise ValueError(f"{name} is a whole number, got {env[name]!r}")
    return int(env[name])
