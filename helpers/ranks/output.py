"""What the ranks print: read while they run, shown in rank order when they are done. Chapter: ranks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

HALF = 32 * 1024  # bytes kept of the head, and of the tail, of one rank's output in one call
_GLOO_GREETING = re.compile(rb"\[Gloo\] Rank \d+ is connected to \d+ peer ranks\.[^\n]*\n")


class Output:
    """One rank's pipe, and what came out of it: all of it up to 64 KiB, beyond that the head and the tail."""

    def __init__(self, fd: int):
        self.fd = fd
        os.set_blocking(fd, False)
        self.clear()

    def clear(self) -> None:
        """Forget what was read: a new call begins."""
        self._head, self._tail, self._left_out = bytearray(), bytearray(), 0

    def read(self) -> bool:
        """Take what is there now; False once the rank has closed its end."""
        while True:
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._keep(data)

    def _keep(self, data: bytes) -> None:
        room = HALF - len(self._head)
        self._head += data[:room]
        self._tail += data[max(room, 0) :]
        if (beyond := len(self._tail) - HALF) > 0:
            del self._tail[:beyond]
            self._left_out += beyond

    @property
    def text(self) -> str:
        """What the rank printed, without Gloo's greeting when a group forms."""
        gap = f"\n... {self._left_out} bytes left out ...\n".encode() if self._left_out else b""
        return _GLOO_GREETING.sub(b"", bytes(self._head + gap + self._tail)).decode(errors="replace")


def in_rank_order(texts: Iterable[str]) -> str:
    """Every line with its rank in front, rank 0 first; "" when nobody printed."""
    return "".join(f"[rank {rank}] {line}\n" for rank, text in enumerate(texts) for line in text.splitlines())
