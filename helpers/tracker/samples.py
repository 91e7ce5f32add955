"""On CUDA: what the allocator itself says, beside what the tracker counts. Chapters: training-memory, allocator."""

from __future__ import annotations

from collections.abc import Callable

import torch

from helpers.memory import Event, Sample

from .ledger import Ledger

EVERY = 16  # events between two looks
HIGHER = 1.01  # times the most bytes alive so far: a moment to look, too, so that no peak lies between two looks


class CudaSamples:
    """Samples of one GPU; read on the host, nothing is waited for. on_sample gets each as it is taken."""

    def __init__(self, device: torch.device, ledger: Ledger, on_sample: Callable[[Sample], None] | None = None) -> None:
        self.device = device
        self.taken: list[Sample] = []
        self._total = self._most = 0
        self._events, self._report, self._on_sample = ledger.events, ledger.on_event, on_sample
        ledger.on_event = self._count

    def take(self, count: int) -> None:
        """Look now, after `count` events."""
        stats = torch.cuda.memory_stats(self.device)
        held = (stats[f"{what}_bytes.all.current"] for what in ("allocated", "reserved"))
        self.taken.append(Sample(max(count - 1, 0), *held))
        if self._on_sample is not None:
            self._on_sample(self.taken[-1])

    def _count(self, event: Event) -> None:
        if self._report is not None:
            self._report(event)
        self._total += {"alloc": event.nbytes, "free": -event.nbytes}.get(event.kind, 0)
        if self._total > HIGHER * self._most or len(self._events) % EVERY == 0:
            self._most = max(self._most, self._total)
            self.take(len(self._events))
