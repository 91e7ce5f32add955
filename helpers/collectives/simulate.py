"""Play a schedule on arrays, and prove it. Chapters: ring, trees.

Every collective is linear, so playing it on one-hot inputs (who is inside, and how often) proves it for all inputs:
a lost contribution is a 0, one added twice is a 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .promises import Counts, promise
from .schedule import Schedule, ScheduleError, Step

Array = NDArray[Any]  # [rank, chunk, ...]; switches are rows beyond the ranks


def simulate(s: Schedule, chunks: Array) -> Iterator[Array]:
    """Yields the state before the first and after every step; each is an array of its own.

    chunks: [nranks, nchunks, ...], what every rank holds at the start (any dtype). Switches are further rows, empty at the start.
    """
    chunks = np.asarray(chunks)
    if chunks.shape[:2] != (s.nranks, s.nchunks):
        raise ScheduleError(f"chunks must have shape ({s.nranks}, {s.nchunks}, ...), got {chunks.shape}")
    switches = np.zeros((s.nswitches, *chunks.shape[1:]), dtype=chunks.dtype)
    state = np.concatenate([chunks, switches])
    yield state
    for step in s.steps:
        state = state.copy()
        _play(state, step, s.nswitches)
        yield state


def _play(state: Array, step: Step, nswitches: int) -> None:
    """One step in place. Everything is read before anything is written."""
    src, dst, chunk, op = map(np.array, zip(*step, strict=True))
    payload = state[src, chunk]
    adds = op == "reduce"
    state[dst[~adds], chunk[~adds]] = payload[~adds]
    to_switch = dst[adds] >= len(state) - nswitches
    for mine, add in ((~to_switch, _add), (to_switch, np.add.at)):  # only a switch may be added into twice in a step
        where = dst[adds][mine], chunk[adds][mine]
        add(state, where, payload[adds][mine])


def _add(state: Array, where: tuple[NDArray[np.int_], NDArray[np.int_]], payload: Array) -> None:
    state[where] += payload


def contributions(s: Schedule) -> Iterator[Counts]:
    """The proof's own run: int arrays [nranks, nchunks, origin], how often each origin is inside each slot, step by step."""
    before = promise(s.collective).before(s.nranks, s.nchunks, s.root)
    return simulate(s, before)


def check(s: Schedule) -> None:
    """Returns None when the schedule keeps its collective's promise.

    Else raises ScheduleError naming rank, chunk, expected, got and the step. Ports are no part of a promise: a rank may send to
    everybody in one step, and `price` lets it take turns.
    """
    promise(s.collective).accepts(s.nranks, s.nchunks, s.root)
    if not _proved(s):
        _examine(s)


def _proved(s: Schedule) -> bool:
    """The proof with one bit per origin: no array of nranks * nchunks * nranks counts, so 512 ranks take a second.

    A bit cannot count to two, so where a sum would add an origin twice, and where anything else is odd, `_examine` has the say.
    """
    wanted, shape, places = promise(s.collective), (s.nranks, s.nchunks, s.root), s.nranks + s.nswitches
    state = [0] * (places * s.nchunks)  # slot (chunk, place): chunk * places + place
    for c in range(s.nchunks):
        for rank, mask in wanted.before.masks(c, *shape):
            state[c * places + rank] = mask
    for step in s.steps:
        payloads = [state[t.chunk * places + t.src] for t in step]
        if not all(payloads):
            return False
        for (_, dst, chunk, op), payload in zip(step, payloads, strict=True):
            slot = chunk * places + dst
            if op == "copy":
                state[slot] = payload
            elif state[slot] & payload or not (state[slot] or dst >= s.nranks):
                return False
            else:
                state[slot] |= payload
    final = ((c * places + rank, mask) for c in range(s.nchunks) for rank, mask in wanted.after.masks(c, *shape))
    return all(state[slot] == mask for slot, mask in final)


def _examine(s: Schedule) -> None:
    """The proof with counts: finds the place where the promise is broken, or that a number too many does no harm."""
    wanted = promise(s.collective)
    before = wanted.before(s.nranks, s.nchunks, s.root)
    after = wanted.after(s.nranks, s.nchunks, s.root)
    state = np.concatenate([before, np.zeros((s.nswitches, *before.shape[1:]), dtype=before.dtype)])
    defined: NDArray[np.bool_] = np.any(state, axis=2)
    for number, step in enumerate(s.steps, 1):
        _refuse_undefined(s, number, step, defined)
        _play(state, step, s.nswitches)
        _, dst, chunk, _ = zip(*step, strict=True)
        defined[list(dst), list(chunk)] = True
    final = state[: s.nranks]
    wrong = np.argwhere(((final != after) & (after >= 0)).any(axis=2))
    if len(wrong):
        raise ScheduleError(_broken_promise(s, int(wrong[0][0]), int(wrong[0][1]), final, after))


def _refuse_undefined(s: Schedule, number: int, step: Step, defined: NDArray[np.bool_]) -> None:
    """Sending, or adding into, a slot that holds nothing yet is a mistake; a switch may be added into while empty."""
    for t in step:
        for rank, verb in ((t.src, "sends"), (t.dst, "adds into")):
            needed = verb == "sends" or (t.op == "reduce" and t.dst < s.nranks)
            if needed and not defined[rank, t.chunk]:
                raise ScheduleError(
                    f"step {number}, {t}: rank {rank} {verb} chunk {t.chunk}, but nothing is there yet:"
                    " expected a slot that the collective fills before, or that an earlier step copied into"
                )


def _broken_promise(s: Schedule, rank: int, chunk: int, got: Counts, want: Counts) -> str:
    last = max(
        (n for n, step in enumerate(s.steps, 1) for t in step if (t.dst, t.chunk) == (rank, chunk)), default=None
    )
    touched = f"last written in step {last} of {len(s.steps)}" if last else "never written"
    return (
        f"{s.collective} by {s.algorithm}, {s.nranks} ranks: rank {rank} chunk {chunk} holds {_origins(got[rank, chunk])},"
        f" should hold {_origins(want[rank, chunk])} ({touched})"
    )


def _origins(counts: Counts) -> str:
    """[1 0 2] -> "0 + 2 twice": whose contributions are inside."""
    times = {1: "", 2: " twice"}
    parts = [f"{o}{times.get(int(n), f' {n} times')}" for o, n in enumerate(counts) if n > 0]
    return f"[{' + '.join(parts) or 'nothing'}]"
