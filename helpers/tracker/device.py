"""What a lab about memory or speed measures: the first GPU that CUDA counts, else the CPU. Chapters: allocator, roofline."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import psutil
import torch

from helpers.ranks.machine.gpus import find_gpus, with_remedy
from helpers.ranks.recorded import shown
from helpers.units import nbytes_text


class Device(NamedTuple):
    """type: "cuda" or "cpu", for torch; name: for captions, "NVIDIA H200" or "CPU"; free: bytes that are free there now."""

    type: str
    name: str
    free: int

    @property
    def is_gpu(self) -> bool:
        return self.type == "cuda"

    def record_of(self, what: str) -> str:
        """The name of a run of `what` here, for measured_or_recorded: pages, and whoever builds them on a GPU, show the CPU's."""
        return f"{what}-{'gpu' if self.is_gpu and not shown() else 'cpu'}"

    def __str__(self) -> str:
        if self.is_gpu:
            return f"measured here: {self.name}, {nbytes_text(self.free)} of its memory free"
        return "measured here: the CPU, since there is no GPU that torch could use"

    __repr__ = __str__


def find_device() -> Device:
    """The device of this process. It starts CUDA where there is a GPU; a RuntimeWarning says why one that is here is of no use."""
    try:
        if torch.cuda.is_available():
            return Device("cuda", torch.cuda.get_device_name(0), torch.cuda.mem_get_info(0)[0])
        trouble = find_gpus().trouble
    except RuntimeError as error:  # CUDA does not start
        trouble = with_remedy(str(error))
    if trouble:
        warnings.warn(trouble, RuntimeWarning, stacklevel=2)
    return Device("cpu", "CPU", psutil.virtual_memory().available)


def at(device: str | torch.device) -> torch.device:
    """The device to measure on. ValueError for one that is neither the CPU nor a CUDA GPU, RuntimeError where no GPU is usable."""
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        raise ValueError(f'device is "cpu", "cuda" or "cuda:1" and the like, got {device!r}') from None
    if found.type not in ("cpu", "cuda"):
        raise ValueError(f'device is "cpu", "cuda" or "cuda:1" and the like, got {device!r}')
    if found.type == "cuda":
        needs_gpus(max(1, (found.index or 0) + 1), f"device {device}")
    return found


def needs_gpus(count: int, what: str) -> None:
    """RuntimeError, with the reason where it is known, unless so many GPUs are usable."""
    usable = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if usable < count:
        reason = find_gpus().trouble or f"this machine has {usable or 'none'}"
        raise RuntimeError(f"{what} needs {'a GPU' if count == 1 else f'{count} GPUs'}: {reason}")
