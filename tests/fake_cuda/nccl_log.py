"""What the played NCCL writes with NCCL_DEBUG=INFO, and how its settings are obeyed: a file a process, choices by rank 0.

The lines have NCCL's own formats (v2.28.9-1: src/init.cc, src/enqueue.cc, src/graph/tuning.cc). It has rings and trees, no NVLS.
"""

from __future__ import annotations

import os
from pathlib import Path

import torch
import torch.distributed as dist

from . import machine

FUNCTIONS = {
    "allreduce": "AllReduce",
    "_allgather_base": "AllGather",
    "all_gather_single": "AllGather",
    "_reduce_scatter_base": "ReduceScatter",
    "reduce_scatter_single": "ReduceScatter",
    "broadcast": "Broadcast",
    "reduce": "Reduce",
}
HAS = ("Ring", "Tree")
CHANNELS = 4


def _write(device: int, text: str, level: str = "INFO") -> None:
    if path := os.environ.get("NCCL_DEBUG_FILE"):
        pid = os.getpid()
        with Path(path.replace("%p", str(pid))).open("a") as file:
            file.write(f"fake:{pid}:{pid} [{device}] NCCL {level} {text}\n")


def begin(device: int) -> None:
    """A communicator is made."""
    rank, nranks = dist.get_rank(), dist.get_world_size()
    comm = f"ncclCommInitRankConfig comm 0xfa{rank} rank {rank} nranks {nranks} cudaDev {device} nvmlDev {device}"
    if rank == 0:
        _write(device, f"NCCL version {'.'.join(map(str, machine.NCCL))}+cuda{machine.CUDA}")
    _write(device, f"{comm} busId 1000 commId 0xfa4e - Init START")
    for name in ("NCCL_PROTO", "NCCL_ALGO"):
        if value := os.environ.get(name):
            _write(device, f"{name} set by environment to {value}")
    channels = _channels()
    for channel in range(channels) if rank == 0 else ():
        _write(device, f"Channel {channel:02d}/{channels:02d} : {' '.join(map(str, range(nranks)))}")
    _write(device, f"{comm} busId 1000 commId 0xfa4e - Init COMPLETE")


def chosen(name: str, args: tuple, device: int) -> None:
    """A collective is called: what it takes; torch's error, behind NCCL's, for what it has not."""
    if (function := FUNCTIONS.get(name)) is None:
        return
    algorithm, protocol = _asked("NCCL_ALGO", function, "Ring"), _asked("NCCL_PROTO", function, "Simple")
    if algorithm not in HAS:
        told = f"no algorithm/protocol available for function {function} with datatype ncclFloat32."
        _write(device, f"Error : {told} NCCL_ALGO was set to {os.environ['NCCL_ALGO']}.", "WARN")
        raise dist.DistBackendError(f"NCCL error: invalid usage, {told}")
    if dist.get_rank() == 0:
        sizes = f"{_nbytes(function, args)} Bytes -> Algo {algorithm.upper()} proto {protocol.upper()}"
        _write(device, f"{function}: {sizes} channel{{Lo..Hi}}={{0..{_channels() - 1}}}")


def _asked(variable: str, function: str, otherwise: str) -> str:
    of, colon, value = os.environ.get(variable, "").rpartition(":")
    return value if value and (not colon or of.lower() == function.lower()) else otherwise


def _channels() -> int:
    return int(os.environ.get("NCCL_MAX_CTAS", CHANNELS))


def _nbytes(function: str, args: tuple) -> int:
    """Count times size, as NCCL prints it: one rank's share where there are shares."""
    tensors = [arg[0] if isinstance(arg, (list, tuple)) else arg for arg in args[:2]]
    sizes = [tensor.nbytes for tensor in tensors if isinstance(tensor, torch.Tensor)]
    return min(sizes) if function in ("AllGather", "ReduceScatter") else sizes[0]
