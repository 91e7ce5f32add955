"""The exercises of the chapter `execution-model`."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from helpers.facts import ACCELERATORS, Accelerator
from helpers.memory.occupancy import MAX_REGISTERS, occupancy
from helpers.memory.warps import BRANCHES, LANES, bank_conflicts, coalesce, diverge, pattern, strided

from .answer import Answer, NotYetError, judge


def _whole(where: str, value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise NotYetError(f"{where}: expected {what}, a whole number, got {value!r}.")
    return value


# steps of a branch -------------------------------------------------------------------------------------------------------
def steps(answer: Callable[[Sequence[int], Sequence[int]], int]) -> Answer:
    """answer(arms, lengths): steps that a warp issues when lane i takes arm arms[i] and arm a is lengths[a] steps long."""
    rng = random.Random(4)
    cases = [(pattern(name), [3] * LANES) for name in BRANCHES] + [
        (pattern("halves"), [5, 2]),
        (pattern("one lane"), [0, 7]),
    ]
    cases += [([rng.randrange(4) for _ in range(LANES)], [rng.randrange(9) for _ in range(6)]) for _ in range(20)]
    return judge(cases, lambda case: _steps(answer, *case), f"Right for all {len(cases)} branches.")


def _steps(answer: Callable, arms: Sequence[int], lengths: Sequence[int]) -> None:
    where = f"For arms {sorted(set(arms))} with lengths {[lengths[arm] for arm in sorted(set(arms))]}"
    got, want = _whole(where, answer(list(arms), list(lengths)), "a number of steps"), diverge(arms, lengths).steps
    if got != want:
        hint = "the arms that some lane takes run one after the other; an arm that no lane takes costs nothing"
        raise NotYetError(f"{where}: you said {got}, it is {want}. Hint: {hint}.")


# sectors of a load -------------------------------------------------------------------------------------------------------
def sectors(answer: Callable[[int, int, int], int]) -> Answer:
    """answer(stride, offset, nbytes): 32-byte sectors that a warp touches; lane i reads nbytes at offset + i * stride * nbytes."""
    cases = [(s, o, n) for n in (4, 2, 8) for o in (0, 4, 28, 30, 32) for s in (1, 2, 0, 3, 7, 8, 9, 16, 33)]
    return judge(cases, lambda case: _sectors(answer, *case), f"Right for all {len(cases)} loads.")


def _sectors(answer: Callable, stride: int, offset: int, nbytes: int) -> None:
    where = f"For {nbytes}-byte elements, stride {stride}, {offset} bytes after the start"
    got = _whole(where, answer(stride, offset, nbytes), "a number of sectors")
    want = len(coalesce(strided(stride, offset, nbytes), nbytes).sectors)
    if got != want:
        hint = "list the first and the last byte of every lane, divide by 32, and count what differs"
        raise NotYetError(f"{where}: you said {got}, it is {want}. Hint: {hint}.")


# a column without conflicts ----------------------------------------------------------------------------------------------
def padding(answer: Callable[[int], int]) -> Answer:
    """answer(width): the fewest words to add to each row of a tile so that 32 lanes can read a column in one pass."""
    return judge(range(1, 130), lambda width: _padding(answer, width), "Right for every width from 1 to 129 words.")


def _padding(answer: Callable[[int], int], width: int) -> None:
    where = f"For rows of {width} word{'s' * (width != 1)}"
    got = _whole(where, answer(width), "a number of words")
    if got < 0:
        raise NotYetError(f"{where}: a padding is 0 or more, got {got}.")
    ways = bank_conflicts(strided(width + got)).ways
    want = next(more for more in range(LANES) if bank_conflicts(strided(width + more)).ways == 1)
    if ways > 1:
        raise NotYetError(
            f"{where}: with {got} more a column still takes {ways} passes. Hint: which strides share no factor with 32?"
        )
    if got != want:
        raise NotYetError(f"{where}: {got} more are free of conflicts, and so are {want}. Shared memory is scarce.")


# as many registers as possible -------------------------------------------------------------------------------------------
def most_registers(answer: Callable[[Accelerator, int, int], int | None]) -> Answer:
    """answer(gpu, threads, warps): the most registers per thread with which blocks of `threads` keep `warps` warps resident.

    None where no number of registers does. At most 255, and at least 1.
    """
    gpus = [ACCELERATORS[name] for name in ("A100", "RTX-4090", "T4")]
    cases = [
        (gpu, threads, warps) for gpu in gpus for threads in (256, 128, 1024, 96, 32) for warps in (32, 16, 48, 64, 8)
    ]
    return judge(cases, lambda case: _most_registers(answer, *case), f"Right for all {len(cases)} kernels.")


def _most_registers(answer: Callable, gpu: Accelerator, threads: int, warps: int) -> None:
    where = f"On {gpu.name}, {warps} warps in blocks of {threads} threads"
    got = answer(gpu, threads, warps)
    if got is not None:
        got = _whole(where, got, "a number of registers or None")
    enough = [n for n in range(1, MAX_REGISTERS + 1) if occupancy(gpu, threads, n).warps >= warps]
    want = max(enough, default=None)
    if got != want:
        hint = "try every number from 255 down with occupancy(gpu, threads, registers).warps"
        raise NotYetError(f"{where}: you said {got}, it is {want}. Hint: {hint}.")
