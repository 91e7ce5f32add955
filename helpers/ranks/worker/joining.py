"""Becoming a rank: threads, the GPU, the process group. In ranks that Ranks started, and in those of torchrun. Chapters: ranks, hangs."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils._device import DeviceContext, _device_constructors

from helpers.patches import GENERATORS
from helpers.ranks.machine import gpus
from helpers.ranks.network.nic import aside

DAY = 86_400.0  # seconds


def settle_in(device: torch.device) -> None:
    """Make this process a good neighbour: one CPU thread, and one GPU, on which tensors land unless told otherwise.

    Also for processes that torchrun started (`job`). Raises RuntimeError with the remedy when the GPU cannot be used.
    """
    torch.set_num_threads(1)  # else every rank would use all cores
    warnings.filterwarnings("ignore", r".*(all_gather_into_tensor|reduce_scatter_tensor)", FutureWarning)
    if device.type != "cuda":
        return
    try:
        torch.cuda.set_device(device)
        torch.cuda.synchronize()  # CUDA starts here, and what is wrong with it shows
    except RuntimeError as error:
        raise RuntimeError(gpus.with_remedy(f"{device} cannot be used: {error}")) from error
    torch.set_default_device(device)  # torch.ones(4) in a cell lands on the rank's GPU
    GENERATORS.put(DeviceContext, "__torch_function__", _where_its_generator_is(DeviceContext.__torch_function__))


def _where_its_generator_is(original: Callable) -> Callable:
    """The default device, but for random numbers of a generator: those come where the generator is."""

    @wraps(original)
    def chosen(context, func, types, args=(), kwargs=None):
        generator = (kwargs or {}).get("generator")
        if generator is not None and kwargs.get("device") is None and func in _device_constructors():
            kwargs = kwargs | {"device": generator.device}
        return original(context, func, types, args, kwargs)

    return chosen


def join(backend: str, device: torch.device, timeout: float, **rendezvous: object) -> None:
    """Join the process group, and meet everybody in a first all_reduce. rendezvous: what `init_process_group` wants to know.

    timeout: torch's own, in seconds, as `torch_timeout` gives it. With device_id NCCL's communicator is made here and now, once, and
    not inside the reader's first collective. What torch does at its deadline is its default, TORCH_NCCL_ASYNC_ERROR_HANDLING=3:
    end the process without aborting the communicator first, since an abort can hang as well.
    """
    dist.init_process_group(
        backend,
        timeout=datetime.timedelta(seconds=timeout),
        device_id=device if device.type == "cuda" else None,
        **rendezvous,
    )
    with aside():  # where a network is emulated, the meeting itself is not on it
        dist.all_reduce(torch.zeros(1, device=device))


def torch_timeout(timeout: float, watched: bool = False) -> float:
    """Seconds after which torch itself gives a collective up: a minute after our own deadline, which says more.

    watched: by the notebook, whose deadline counts no time in which the whole machine stood still, as torch's does: then a day.
    """
    return max(2 * timeout + 60, DAY if watched else 0)


def nccl_settings(timeout: float, scratch: str) -> dict[str, str]:
    """What torch's NCCL watchdog is told in the environment: whoever sets one of these themselves is obeyed.

    Its monitor ends a process whose watchdog is blocked, after 480 s by default: never before our own deadline. Its dump of the
    latest operations goes into the team's folder. And at a group's first send or receive outside a batch it need not say that such
    messages follow one another: a reader's ping-pong is one.
    """
    return {
        "TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING": "0",
        "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": f"{torch_timeout(timeout, watched=True) + 60:.0f}",
        "TORCH_FR_DUMP_TEMP_FILE": str(Path(scratch, "nccl-trace-")),
    }
