"""A warp, small enough to count: which lanes an instruction serves, which sectors a load touches, which banks collide.

A model of what the CUDA Programming Guide describes (SIMT, coalesced access, shared memory banks), not of a pipeline: it counts
issued steps, sectors and passes, and knows no caches and no time. Chapter: execution-model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LANES = 32
SECTOR, LINE = 32, 128  # bytes: what global memory hands over at least, and what a cache line holds (four sectors)
BANKS, WORD = 32, 4
BRANCHES = ("none", "even or odd", "halves", "quarters", "one lane", "every lane its own")
MAX_STEPS = 64


class WarpError(ValueError):
    """Not a warp: the wrong number of lanes, or a number that no lane can have."""


@dataclass(frozen=True)
class Divergence:
    """What a warp issues for one branch. issued: (branch, lanes that are active), one entry an instruction, in order."""

    issued: tuple[tuple[int, tuple[int, ...]], ...]

    @property
    def steps(self) -> int:
        return len(self.issued)

    @property
    def useful(self) -> int:
        """Lane-steps that did something a thread asked for."""
        return sum(len(lanes) for _, lanes in self.issued)

    @property
    def efficiency(self) -> float:
        """Useful lane-steps over the lane-steps that passed: 1 where no lane ever waits."""
        return self.useful / (LANES * self.steps) if self.steps else 1.0


@dataclass(frozen=True)
class Access:
    """What one load of a warp touches in global memory. sectors and lines: their indices, ascending. asked: distinct bytes."""

    sectors: tuple[int, ...]
    lines: tuple[int, ...]
    asked: int

    @property
    def moved(self) -> int:
        """Bytes that cross: whole sectors."""
        return SECTOR * len(self.sectors)

    @property
    def efficiency(self) -> float:
        """Bytes asked for over bytes moved."""
        return self.asked / self.moved


@dataclass(frozen=True)
class Conflicts:
    """One load of a warp from shared memory. words: per bank, the distinct 4-byte words asked of it, ascending."""

    words: tuple[tuple[int, ...], ...]

    @property
    def ways(self) -> int:
        """Passes that the load takes: the most distinct words in one bank. 1 is no conflict; lanes on one word share it."""
        return max(map(len, self.words))


def pattern(name: str) -> tuple[int, ...]:
    """Which branch each lane takes: "none" (all 0), "even or odd", "halves", "quarters", "one lane", "every lane its own"."""
    rules = (
        lambda lane: 0,
        lambda lane: lane % 2,
        lambda lane: lane // 16,
        lambda lane: lane // 8,
        lambda lane: int(lane == 0),
        lambda lane: lane,
    )
    if name not in BRANCHES:
        raise WarpError(f"branch must be one of {', '.join(BRANCHES)}, got {name!r}")
    return tuple(map(rules[BRANCHES.index(name)], range(LANES)))


def diverge(branches: Sequence[int], steps: Sequence[int]) -> Divergence:
    """Run a branch: lane i takes branches[i], and branch b is steps[b] instructions long.

    The branches that some lane takes run one after the other, in order; the other lanes wait, then all go on together.
    WarpError unless there are 32 branches, each with a length from 0 to 64.
    """
    _lanes(branches, "branches")
    for branch in branches:
        if not 0 <= branch < len(steps):
            raise WarpError(f"branch {branch} has no length; lengths are given for 0 to {len(steps) - 1}")
    if not all(0 <= length <= MAX_STEPS for length in steps):
        raise WarpError(f"a branch is 0 to {MAX_STEPS} instructions long, got {list(steps)}")
    taken = {
        branch: tuple(lane for lane in range(LANES) if branches[lane] == branch) for branch in sorted(set(branches))
    }
    return Divergence(tuple((branch, lanes) for branch, lanes in taken.items() for _ in range(steps[branch])))


def strided(stride: int, offset: int = 0, nbytes: int = 4) -> tuple[int, ...]:
    """The byte addresses of 32 lanes: lane i reads element i * stride, of `nbytes` bytes, `offset` bytes after the start."""
    if stride < 0 or offset < 0 or nbytes not in (1, 2, 4, 8, 16):
        raise WarpError(
            f"stride and offset are 0 or more and an element has 1, 2, 4, 8 or 16 bytes, got {stride, offset, nbytes}"
        )
    return tuple(offset + lane * stride * nbytes for lane in range(LANES))


def coalesce(addresses: Sequence[int], nbytes: int = 4) -> Access:
    """Which 32-byte sectors and 128-byte lines a load of `nbytes` at each address touches."""
    _lanes(addresses, "addresses")
    asked = {byte for start in addresses for byte in range(start, start + nbytes)}
    sectors = tuple(sorted({byte // SECTOR for byte in asked}))
    lines = tuple(sorted({byte // LINE for byte in asked}))
    return Access(sectors, lines, len(asked))


def bank_conflicts(addresses: Sequence[int]) -> Conflicts:
    """Which 4-byte words a load asks of each of the 32 banks; word w lies in bank w mod 32."""
    _lanes(addresses, "addresses")
    words = sorted({address // WORD for address in addresses})
    return Conflicts(tuple(tuple(word for word in words if word % BANKS == bank) for bank in range(BANKS)))


def _lanes(values: Sequence[int], name: str) -> None:
    if len(values) != LANES:
        raise WarpError(f"a warp has {LANES} lanes, got {len(values)} {name}")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise WarpError(f"{name} are whole numbers, 0 or more, got {value!r}")
