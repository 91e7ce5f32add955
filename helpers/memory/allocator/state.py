"""What the device's memory looks like at one moment: segments cut into blocks, folded from the allocator's actions. Chapter: allocator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from helpers.memory.allocator.books import Action
from helpers.memory.allocator.rules import page_of


class SegmentBlock(NamedTuple):
    """A block of a segment. state: "active_allocated" or "inactive", torch's words. block: the trace's id, -1 where it is free.

    requested: bytes of the tensor inside; cls: its class at this moment ("" where free); event: the event that took it (-1 where free).
    """

    address: int
    size: int
    state: str
    requested: int = 0
    block: int = -1
    cls: str = ""
    event: int = -1


@dataclass(frozen=True)
class Segment:
    """Memory that cudaMalloc gave (or pages mapped side by side), and its blocks in order of address, which fill it exactly."""

    address: int
    size: int
    pool: str
    expandable: bool
    blocks: tuple[SegmentBlock, ...]

    @property
    def allocated(self) -> int:
        """Bytes of blocks that hold a tensor."""
        return sum(block.size for block in self.blocks if block.state != "inactive")

    @property
    def free(self) -> int:
        """Bytes that are reserved and hold nothing."""
        return self.size - self.allocated


def segments(actions: Iterable[Action], classes: Mapping[int, str]) -> list[Segment]:
    """The segments after these actions, by address. classes: what each tensor is at that moment."""
    pieces: dict[int, tuple[int, str]] = {}
    pages: dict[int, str] = {}
    taken: dict[int, Action] = {}
    for action in actions:
        if action.action == "alloc":
            taken[action.address] = action
        elif action.action == "free_completed":
            del taken[action.address]
        elif action.action == "segment_alloc":
            pieces[action.address] = action.size, action.pool
        elif action.action == "segment_free":
            del pieces[action.address]
        elif action.action in ("segment_map", "segment_unmap"):
            _turn(pages, action)
    alive = sorted(taken.values(), key=lambda action: action.address)
    ranges = [(address, size, pool, False) for address, (size, pool) in pieces.items()] + _runs(pages)
    return _filled(sorted(ranges), alive, classes)


def _turn(pages: dict[int, str], action: Action) -> None:
    """Maps or unmaps the pages of one action."""
    for address in range(action.address, action.address + action.size, page_of(action.pool)):
        if action.action == "segment_map":
            pages[address] = action.pool
        else:
            del pages[address]


def _runs(pages: Mapping[int, str]) -> list[tuple[int, int, str, bool]]:
    """Pages side by side as one range, as torch's snapshot tells them."""
    runs: list[tuple[int, int, str, bool]] = []
    for address, pool in sorted(pages.items()):
        if runs and runs[-1][2] == pool and runs[-1][0] + runs[-1][1] == address:
            runs[-1] = (runs[-1][0], runs[-1][1] + page_of(pool), pool, True)
        else:
            runs.append((address, page_of(pool), pool, True))
    return runs


def _filled(ranges: list[tuple[int, int, str, bool]], alive: list[Action], classes: Mapping[int, str]) -> list[Segment]:
    """Every range with its blocks; what no tensor holds is free, and two free blocks never stand side by side."""
    found, i = [], 0
    for address, size, pool, expandable in ranges:
        blocks, at, end = [], address, address + size
        while i < len(alive) and alive[i].address < end:
            action = alive[i]
            if action.address > at:
                blocks.append(SegmentBlock(at, action.address - at, "inactive"))
            made = (action.requested, action.owner, classes.get(action.owner, ""), action.event)
            blocks.append(SegmentBlock(action.address, action.size, "active_allocated", *made))
            at, i = action.address + action.size, i + 1
        if at < end:
            blocks.append(SegmentBlock(at, end - at, "inactive"))
        found.append(Segment(address, size, pool, expandable, tuple(blocks)))
    return found
