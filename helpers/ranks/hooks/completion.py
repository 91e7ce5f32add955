"""When is an operation complete? What the notes of torch's functions ask, on the CPU; `streams` answers it on GPUs. Chapter: hangs."""

from __future__ import annotations

import torch.distributed as dist

from helpers.ranks.notes.notes import State, Writer


class Completion:
    """When is an operation complete? On the CPU: when its call, or the wait on its handle, returns.

    A token stands for one operation from `begin` to its end; `streams.StreamCompletion` is the same for GPUs.
    """

    @property
    def follows_handles(self) -> bool:
        """Does `launched` see by itself when a handle is complete?"""
        return type(self) is not Completion

    def begin(self, writer: Writer, record: int) -> object:
        """The operation is entered: returns its token."""

    def end(self, writer: Writer, record: int, token: object) -> None:
        """Its call, or the wait on its last handle, has returned."""
        writer.mark(record, State.DONE)

    def launched(self, writer: Writer, record: int, token: object, works: list[dist.Work]) -> None:
        """Its call has returned handles, and nobody waits for them yet."""
        writer.mark(record, State.LAUNCHED)

    def waiting(self, writer: Writer, record: int, token: object) -> None:
        """Somebody waits for one of its handles from now on."""
        writer.mark(record, State.INSIDE)

    def failed(self, writer: Writer, record: int, token: object) -> None:
        """It raised."""
        writer.mark(record, State.FAILED)

    def settle(self, limit: float | None = None) -> bool:
        """Wait, at most `limit` seconds, until everything enqueued is complete; False when it is not, or the GPU has failed."""
        return True

    def forget(self) -> None:
        """The records are about to be reused."""
