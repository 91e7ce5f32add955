"""How much a check may ask of a device: everything of a GPU with room, little of a small one and of a CPU, where checks are only tried."""

from __future__ import annotations

import torch

from helpers.units import GIB, MIB

ROOM = 8 * GIB  # bytes of memory from which on a GPU gets the sizes that the figures are made for
TRIED = 64 * MIB  # what counts as a CPU's memory


def memory(device: str) -> int:
    """Bytes: the GPU's whole memory; TRIED on a CPU. Inside whoever may start CUDA."""
    return torch.cuda.get_device_properties(device).total_memory if device.startswith("cuda") else TRIED


def roomy(device: str) -> bool:
    """A GPU of 8 GiB or more."""
    return memory(device) >= ROOM


def mine() -> int:
    """Inside ranks: `memory` of this rank's own device."""
    return memory(f"cuda:{torch.cuda.current_device()}" if torch.cuda.is_initialized() else "cpu")
