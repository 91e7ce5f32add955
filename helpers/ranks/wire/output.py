"""What the ranks print: in rank order when they are done, or whole lines as they come. Chapter: ranks."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable

from helpers.meanwhile import LINE

HALF = 32 * 1024  # bytes kept of the head, and of the tail, of one rank's output in one call
_TURNS = 16  # reads of 64 KiB in a row before the other ranks are served; a pipe holds one such read
_GLOO_GREETING = re.compile(r"\[Gloo\] Rank \d+ is connected to \d+ peer ranks\.")


class Output:
    """One rank's pipe, and what came out of it: all of it up to 64 KiB, beyond that the head and the tail."""

    def __init__(self, fd: int):
        self.fd = fd
        self.heard: Live | None = None  # who shows every byte as it comes
        os.set_blocking(fd, False)
        self.clear()

    def clear(self) -> None:
        """Forget what was read: a new call begins."""
        self._head, self._tail, self._left_out = bytearray(), bytearray(), 0

    def listen(self, live: Live | None) -> None:
        """From now on `live` gets every byte, and first what is kept."""
        self.heard = live
        if live and self._head:
            live(bytes(self._head + self._tail))

    def read(self) -> bool:
        """Take what is there now, 1 MiB at most; False once the rank has closed its end."""
        for _ in range(_TURNS):
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._keep(data)
            if self.heard:
                self.heard(data)
        return True

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
        text = bytes(self._head + gap + self._tail).decode(errors="replace")
        return "".join(line for line in text.splitlines(keepends=True) if not _GLOO_GREETING.match(line))


class Live:
    """Shows one rank's lines as they come: whole ones, so that two ranks never share a line."""

    def __init__(self, rank: int):
        self._rank, self._begun = rank, bytearray()

    def __call__(self, data: bytes) -> None:
        end = data.rfind(b"\n") + 1
        if end:
            whole, self._begun = self._begun + data[:end], bytearray()
            self._show(whole)
        self._begun += data[end:]

    def end(self) -> None:
        """The call is over: a last line may lack its newline."""
        whole, self._begun = self._begun, bytearray()
        self._show(whole)

    def _show(self, data: bytearray) -> None:
        if text := _labelled(self._rank, data.decode(errors="replace")):
            LINE.make_way()
            sys.stdout.write(text)  # in one piece
            sys.stdout.flush()


def in_rank_order(texts: Iterable[str]) -> str:
    """Every line with its rank in front, rank 0 first; "" when nobody printed."""
    return "".join(_labelled(rank, text) for rank, text in enumerate(texts))


def _labelled(rank: int, text: str) -> str:
    lines = text.removesuffix("\n").split("\n") if text else []
    return "".join(f"[rank {rank}] {_last_state(line)}\n" for line in lines if not _GLOO_GREETING.match(line))


def _last_state(line: str) -> str:
    """A progress bar draws one line many times, with carriage returns between: what a terminal shows in the end."""
    return line.rstrip("\r").rpartition("\r")[2]
