"""What every rank is doing, readable while it is stuck: op notes in memory that the parent shares. Chapter: hangs.

One file of fixed-size records, mapped by both sides: no thread, no lock and no GIL is needed to read it. A rank writes one
record when it enters a collective, and changes its state when that completes.
"""

from __future__ import annotations

import functools
import struct
import time
import zlib
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from .envelopes import Group, Peer, pack_peers, peers_text, unpack_group, unpack_peers

KEPT = 64  # records per rank; older ones are overwritten
STALE = 1.0  # seconds; the watcher of a GPU's streams looks fifty times as often
RECORD = 320  # bytes of one record
# Records; collectives of all ranks, their checksum; those of subgroups; the messages' checksum; the call.
_HEAD = struct.Struct("<QIIIII")
_REC = struct.Struct("<QdBHI")  # record number + 1, since, state, length of the text, the collective's number
_SINCE = struct.Struct("<dB")
_MET, _MET_AT = struct.Struct("@d"), 64  # in the head: when the rank had met the others; native, so written at once
_STEPS, _STEPS_AT = struct.Struct("@qq"), 72  # progress: steps done, and steps in all + 1 (0: unknown)
REGION = RECORD * (KEPT + 1)  # bytes per rank; the head takes the place of one record
_FIELD = "\x1f"


class State(IntEnum):
    """LAUNCHED: asynchronous, nobody waits yet. INSIDE: the rank is in it. DONE: completed. FAILED: it raised.

    QUEUED: on a GPU, behind other work of its stream; `since` is when the rank's watcher last saw that.
    """

    LAUNCHED, INSIDE, DONE, FAILED, QUEUED = range(5)


_INSIDE = int(State.INSIDE)


class Note(NamedTuple):
    """One operation of one rank. agreed: what must be equal on all ranks; more: what need not.

    group, envelope: the group and the peers, packed as envelopes.py does; "" for all ranks, and for a collective.
    """

    op: str
    number: int
    agreed: str
    more: str
    group: str
    envelope: str
    where: str
    state: State
    since: float  # seconds, CLOCK_MONOTONIC: the same clock in every process

    @property
    def collective(self) -> bool:
        """Numbered and compared across ranks; a send or a receive is not."""
        return self.number > 0

    @property
    def signature(self) -> tuple[str, str]:
        return self.op, self.agreed

    @property
    def within(self) -> Group:
        """The group, unpacked."""
        return unpack_group(self.group)

    @property
    def peers(self) -> tuple[Peer, ...]:
        """Of a send, a receive or a batch of them."""
        return unpack_peers(self.envelope)

    def __str__(self) -> str:
        number = f" #{self.number}" if self.collective else ""
        agreed = f" of {self.agreed}" if self.agreed else ""
        return f"{self.op}{number}{self.more}{peers_text(self.op, self.envelope)}{agreed}{self.within}"


class Journal(NamedTuple):
    """All that one rank has noted in this call: its latest records, oldest first, and how many collectives it has entered.

    noted: how many records it has written in all.
    """

    notes: tuple[Note, ...]
    entered: int
    checksum: int
    in_subgroups: int
    noted: int = 0

    @property
    def forgot(self) -> bool:
        """Older records were overwritten: what is not found here may have been there."""
        return self.noted > len(self.notes)

    @property
    def inside(self) -> Note | None:
        """The operation the rank is in at this moment, if any: the oldest, since on a stream the others wait for that one.

        A queued one that nobody has looked at for long counts too: what blocks the GPU can block whoever looks.
        """
        stale = time.monotonic() - STALE
        queued = (n for n in self.notes if n.state == State.QUEUED and n.since < stale)
        return next((n for n in self.notes if n.state == State.INSIDE), None) or next(queued, None)


class Writer:
    """A rank's side. `region` is its part of the shared file."""

    def __init__(self, region: memoryview, rank: int = 0):
        self._region, self._rank, self._call = region, rank, -1
        self.clear()

    def clear(self) -> None:
        """A new call begins: numbers start at 1. What comes before the first call is call 0."""
        self._call += 1
        _HEAD.pack_into(self._region, 0, 0, 0, 0, 0, 0, self._call)
        _STEPS.pack_into(self._region, _STEPS_AT, 0, 0)
        self._region[RECORD:] = bytes(REGION - RECORD)
        self._count = self._entered = self._checksum = self._in_subgroups = self._sent = 0
        self._numbers: dict[str, int] = {}
        self._messages: dict[tuple, int] = {}

    def enter(
        self,
        op: str,
        agreed: str,
        more: str = "",
        group: str | None = "",
        peers: Sequence[Peer] = (),
        where: str = "",
    ) -> int:
        """Note that the rank enters `op`; returns the record's id for `mark`. peers: of a send or a receive, which counts per peer.

        group: packed, "" for all ranks; None for what is no collective of anybody's.
        """
        envelope = pack_peers(self._counted(peers, group, agreed)) if peers else ""
        text, signature = _encoded(op, agreed, more, group or "", envelope, where)
        number = 0
        if group is not None and not peers:
            number = self._numbers[group] = self._numbers.get(group, 0) + 1
            if group:
                self._in_subgroups += 1
            else:
                self._entered, self._checksum = number, zlib.crc32(signature, self._checksum)
        record, self._count = self._count, self._count + 1
        at = RECORD * (1 + record % KEPT)
        self._region[at + _REC.size : at + _REC.size + len(text)] = text
        _REC.pack_into(self._region, at, record + 1, time.monotonic(), _INSIDE, len(text), number)
        told = self._entered, self._checksum, self._in_subgroups, self._sent, self._call
        _HEAD.pack_into(self._region, 0, record + 1, *told)
        return record

    def _counted(self, peers: Sequence[Peer], group: str | None, agreed: str) -> list[Peer]:
        """Messages between two ranks, with one tag, arrive in the order in which they were sent: so the number tells which is which.

        What is sent adds to the checksum and what is received takes away, so over all ranks it is 0 when each message has
        come to its receiver as it was sent.
        """
        counted = []
        for peer in peers:
            key = (group, *peer.way)
            self._messages[key] = self._messages.get(key, 0) + 1
            mixed = (group, False, None, peer.tag) in self._messages
            counted.append(peer._replace(number=self._messages[key], mixed=mixed and not peer.sends))
            ends = (self._rank, peer.rank) if peer.sends else (peer.rank, self._rank)
            said = zlib.crc32(f"{ends} {peer.tag} {self._messages[key]} {group} {peer.what or agreed}".encode())
            self._sent = (self._sent + (said if peer.sends else -said)) % 2**32
        return counted

    def mark(self, record: int, state: State) -> None:
        """The operation changed its state now."""
        if record >= self._count - KEPT:
            _SINCE.pack_into(self._region, RECORD * (1 + record % KEPT) + 8, time.monotonic(), state)

    def met(self) -> None:
        """The rank has met the others and can take calls."""
        _MET.pack_into(self._region, _MET_AT, time.monotonic())

    def steps(self, done: int, total: int | None) -> None:
        """Progress of this call: `done` steps of `total` (None: nobody knows)."""
        _STEPS.pack_into(self._region, _STEPS_AT, done, 0 if total is None else total + 1)


@functools.lru_cache(256)
def _encoded(op: str, agreed: str, more: str, group: str, envelope: str, where: str) -> tuple[bytes, bytes]:
    """A record's text, and what of it counts in the checksum. Kept, since most notes of a loop are the same."""
    fields = op, _fitted(agreed), more[:30], group, envelope, where[-60:]  # they fit a record
    return _FIELD.join(fields).encode()[: RECORD - _REC.size], f"{op} {agreed}".encode()


def _fitted(agreed: str) -> str:
    """At most 48 characters, different where the whole is different."""
    return agreed if len(agreed) <= 48 else f"{agreed[:40]}~{zlib.crc32(agreed.encode()) % 0xFFFFFFF:07x}"


def read_head(region: memoryview) -> tuple[int, int, int]:
    """(collectives of all ranks entered, checksum of their signatures, collectives of subgroups): cheap, after every call."""
    return _HEAD.unpack_from(region, 0)[1:4]


def read_messages(region: memoryview) -> int:
    """The checksum of what the rank has sent, less that of what it has received: over all ranks 0, modulo 2**32, if all is well."""
    return _HEAD.unpack_from(region, 0)[4]


def read_met(region: memoryview) -> float:
    """When the rank had met the others (CLOCK_MONOTONIC), 0 while it has not."""
    return _MET.unpack_from(region, _MET_AT)[0]


def read_steps(region: memoryview) -> tuple[int, int | None]:
    """(steps done, steps in all or None) of this call, as `progress` counts them."""
    done, total = _STEPS.unpack_from(region, _STEPS_AT)
    return done, total - 1 if total else None


def read(region: memoryview, call: int | None = None) -> Journal:
    """The parent's side: a record that is being overwritten at this moment is left out.

    call: its number. A rank that has not begun it yet, on a busy machine, still has its notes of the one before: they are not read.
    """
    count, *head, begun = _HEAD.unpack_from(region, 0)
    if call not in (None, begun):
        return Journal((), 0, 0, 0)
    notes = (_read_note(region, record) for record in range(max(0, count - KEPT), count))
    return Journal(tuple(n for n in notes if n is not None), *head[:3], count)


def _read_note(region: memoryview, record: int) -> Note | None:
    at = RECORD * (1 + record % KEPT)
    owner, since, state, length, number = _REC.unpack_from(region, at)
    fields = bytes(region[at + _REC.size : at + _REC.size + length]).decode(errors="replace").split(_FIELD)
    if owner != record + 1 or len(fields) != 6:
        return None
    op, *texts = fields
    return Note(op, number, *texts, State(state), since)
