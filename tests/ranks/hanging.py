"""A script that torchrun starts: one argument says what goes wrong on the last rank. It knows nothing of hang reports."""

import ctypes
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed import all_reduce  # bound early

if sys.argv[1] == "ddp":  # a process's first model does so: seconds, and not at the same pace on every rank
    import torch._dynamo
dist.init_process_group("gloo")
fault, rank, last = sys.argv[1], dist.get_rank(), dist.get_rank() == dist.get_world_size() - 1
victim, store = 0 if fault == "kill rank 0" else dist.get_world_size() - 1, dist.distributed_c10d._get_default_store()
x = torch.ones(1024)
all_reduce(x)

if rank == victim and fault != "ddp":  # on a busy machine the others may still be in the first one
    store.wait([f"{other} is here" for other in range(dist.get_world_size()) if other != victim])
    time.sleep(0.2)
if fault == "skip" and last:
    time.sleep(300)
if fault == "raise" and last:
    raise ValueError("boom")
if fault == "kill" and last:
    os.kill(os.getpid(), signal.SIGKILL)
if fault == "kill rank 0" and rank == 0:
    os.kill(os.getpid(), signal.SIGKILL)
if fault == "gil" and last:
    ctypes.PyDLL(None).sleep(300)
if fault == "leave" and last:
    sys.exit(0)
if fault == "mismatch" and last:
    dist.broadcast(x, 0)
    time.sleep(300)
if fault == "slow" and last:
    time.sleep(2)
if fault == "ddp":
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
    if last:
        time.sleep(300)
    model(torch.ones(2, 8)).sum().backward()
store.set(f"{rank} is here", "")
all_reduce(x)
sys.stdout.write(f"sum {x[0].item()}\n")
dist.barrier()
dist.destroy_process_group()
