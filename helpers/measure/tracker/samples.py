"""On CUDA: what the allocator itself says, beside what the tracker counts. Chapters: training-memory, allocator."""

from __future__ import annotations

import torch

from .ledger import Ledger

EVERY = 32  # events between two looks


class CudaSamples:
    """(event index, allocated bytes, reserved bytes) of one GPU; read on the host, nothing is waited for."""

    def __init__(self, device: torch.device, ledger: Ledger) -> None:
        self.device = device
        self.taken: list[tuple[int, int, int]] = []
        self._events, self._report = ledger.events, ledger.on_event
        ledger.on_event = self._count

    def take(self, count: int) -> None:
        """Look now, after `count` events."""
        allocated, reserved = torch.cuda.memory_allocated(self.device), torch.cuda.memory_reserved(self.device)
        self.taken.append((max(count - 1, 0), allocated, reserved))

    def _count(self, event: object) -> None:
        if self._report is not None:
            self._report(event)
        if len(self._events) % EVERY == 0:
            self.take(len(self._events))
