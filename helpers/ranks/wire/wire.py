"""Whole messages between the notebook and one rank, without ever waiting for it. Chapter: ranks.

A rank may be stopped half way through an answer of 50 MB, or never take its call. The notebook goes on meanwhile: it hears the
other ranks, deadlines and interrupts. The bytes are those of multiprocessing's Connection, which the rank's end speaks.
"""

from __future__ import annotations

import os
import struct
from multiprocessing.connection import Connection

_SHORT, _LONG = struct.Struct("!i"), struct.Struct("!Q")  # a message's length; -1 in the first announces the second
_MOST = 0x7FFFFFFF
TURNS = 64  # reads or writes in a row (about 200 KB each) before the others are served


class Wire:
    """The notebook's end of one rank's call pipe."""

    def __init__(self, connection: Connection):
        self._fd = connection.fileno()
        os.set_blocking(self._fd, False)
        self._unsent: list[memoryview] = []
        self._expect(_SHORT.size, what="length")

    def fileno(self) -> int:
        return self._fd

    @property
    def sending(self) -> bool:
        """The rank has not taken all of a message."""
        return bool(self._unsent)

    @property
    def receiving(self) -> bool:
        """The rank has sent a part of a message."""
        return self._what != "length" or len(self._rest) < _SHORT.size

    def post(self, message: bytes) -> bool:
        """Begin to send; the bytes are not copied. True when the rank's pipe took all of it at once, else `flush` goes on."""
        n = len(message)
        head = _SHORT.pack(n) if n <= _MOST else _SHORT.pack(-1) + _LONG.pack(n)
        self._unsent = [memoryview(head), memoryview(message)]
        return self.flush()

    def flush(self) -> bool:
        """Hand over what the pipe takes now; True when nothing is left. A rank that is gone takes nothing: its end is heard elsewhere."""
        for _ in range(TURNS):
            if not self._unsent:
                return True
            try:
                self._sent(os.writev(self._fd, self._unsent))
            except BlockingIOError:
                return False
            except OSError:
                self._unsent = []
        return not self._unsent

    def receive(self) -> bytearray | None:
        """One message if all of it is here, None if not yet. Raises EOFError when there will be no more."""
        for _ in range(TURNS):
            try:
                n = os.readv(self._fd, [self._rest])
            except BlockingIOError:
                return None
            except OSError as error:
                raise EOFError from error
            if not n:
                raise EOFError
            self._rest = self._rest[n:]
            if not self._rest and (message := self._complete()) is not None:
                return message
        return None

    def _sent(self, n: int) -> None:
        while self._unsent and n >= len(self._unsent[0]):
            n -= len(self._unsent.pop(0))
        if n:
            self._unsent[0] = self._unsent[0][n:]

    def _expect(self, nbytes: int, what: str) -> None:
        self._part, self._what = bytearray(nbytes), what
        self._rest = memoryview(self._part)

    def _complete(self) -> bytearray | None:
        """All that was expected is here: a length, after which more is, or a message."""
        part, what = self._part, self._what
        if what == "message":
            self._expect(_SHORT.size, "length")
            return part
        (n,) = (_SHORT if what == "length" else _LONG).unpack(part)
        self._expect(*((_LONG.size, "long length") if n == -1 else (n, "message")))
        return None
