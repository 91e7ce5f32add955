"""torch's DistributedDataParallel, beside ours: the same losses, parameters and bytes. Chapter: data-parallel.

It sends from C++, where no Python function is called: `counted` hears it at c10d's operators, and torch's flight recorder keeps the
same calls by a way of its own (helpers.nccl.parse_flight_recorder reads it; tests/parallel compares the two).
"""

from __future__ import annotations

from functools import partial

import torch
import torch.distributed as dist

from helpers import torch_versions
from helpers.memory.payloads import FIRST, REST
from helpers.parallel.module import Module
from helpers.parallel.reference import Trained, Training
from helpers.parallel.strategy import Predicted, Strategy, watched
from helpers.units import MIB

from .bucketed import SMALL, bucket_bytes
from .replicated import all_reduced, local_loss_of, mean_over_ranks

INDEX = 4  # bytes of a number of the list that rank 0 sends when the buckets are made anew


def ddp(training: Training, cap: int | None = None) -> Trained:
    """Inside a rank: torch's wrapper. cap: bytes at which each bucket is full, the first as well; by default 1 MiB and then 25 MiB."""
    from torch.nn.parallel import DistributedDataParallel

    params, losses = training.params(), []
    module, optimizer = Module(training.model, params), training.make_optimizer(params.values())
    wrapped = DistributedDataParallel(module, bucket_cap_mb=None if cap is None else cap / MIB)
    with watched(training.model, module, optimizer) as watch:
        for step in range(training.steps):
            loss = local_loss_of(training, wrapped, step)
            loss.backward()
            watch.after_backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.detach())
    return watch.trained(mean_over_ranks(losses), params)


def flight() -> bytes:
    """Inside a rank: what torch's flight recorder holds now, as helpers.nccl.parse_flight_recorder reads it."""
    from torch._C import _distributed_c10d as c10d

    recorder = dist.group.WORLD._get_backend(torch.get_default_device()).name()
    if recorder == "nccl":  # up to torch 2.14, and later as nccl-legacy
        return c10d._dump_nccl_trace(includeStackTraces=False)
    by_name = torch_versions.has(
        "recorder-of-a-backend", torch.__version__
    )  # "gloo", "nccl2", "nccl-lazy": each keeps its own
    return c10d._dump_fr_trace(includeStackTraces=False, **({"backend": recorder} if by_name else {}))


def predicted(training: Training, nranks: int, rank: int = 0, cap: int | None = None) -> Predicted:
    """As `bucketed`, but for two things that its Reducer does (torch/csrc/distributed/c10d/reducer.cpp).

    Its first step has one bucket, since it does not know yet in which order gradients come. Then it makes the buckets anew, and rank 0
    broadcasts which gradients share one: the numbers of all parameters and how many buckets, then every bucket's length.
    """
    sizes = bucket_bytes(training, cap or FIRST, cap or REST)
    plain, again = all_reduced(training, nranks, len(sizes)), len(training.model.shapes) + 1 + len(sizes)
    calls = {"all_reduce": len(sizes) * (training.steps - 1) + 1, "broadcast": 2}
    sent = {"broadcast": again * INDEX if rank == 0 else 0}
    if training.steps == 1:
        calls, sent = {"all_reduce": 1}, {}
    return Predicted(calls, {**plain.sent, **sent}, plain.held)


_SMALL = {"cap": SMALL}
STRATEGIES = (Strategy("data, DDP", partial(ddp, **_SMALL), partial(predicted, **_SMALL), by="DDP"),)
