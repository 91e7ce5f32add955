"""Play a schedule on arrays, and prove it. Chapters: ring, trees.

Every collective is linear, so playing it on who is inside, and how often, proves it for all inputs: a lost contribution is
inside 0 times, one added twice 2 times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from helpers.arrays import numpy_for

from .promises import promise
from .schedule import Schedule
from .transfers import ScheduleError, Step

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .promises import Counts

    Array = NDArray[Any]  # [rank, chunk, ...]; switches are rows beyond the ranks


def simulate(s: Schedule, chunks: Array) -> Iterator[Array]:
    """Yields the state before the first and after every step; each is an array of its own.

    chunks: [nranks, nchunks, ...], what every rank holds at the start (any dtype). Switches are further rows, empty at the start.
    """
    np = numpy_for("simulate")
    chunks = np.asarray(chunks)
    if chunks.shape[:2] != (s.nranks, s.nchunks):
        raise ScheduleError(f"chunks must have shape ({s.nranks}, {s.nchunks}, ...), got {chunks.shape}")
    switches = np.zeros((s.nswitches, *chunks.shape[1:]), dtype=chunks.dtype)
    state = np.concatenate([chunks, switches])
    yield state
    for step in s.steps:
        state = state.copy()
        _play(np, state, step)
        yield state


def _play(np: Any, state: Array, step: Step) -> None:
    """One step in place. Everything is read before anything is written; only into a switch may be added twice."""
    src, dst, chunk, op = map(np.array, zip(*step, strict=True))
    payload = state[src, chunk]
    adds = op == "reduce"
    state[dst[~adds], chunk[~adds]] = payload[~adds]
    np.add.at(state, (dst[adds], chunk[adds]), payload[adds])


def contributions(s: Schedule) -> Iterator[Counts]:
    """`holdings` as int arrays [nranks, nchunks, origin]: how often each origin is inside each slot, step by step."""
    before = promise(s.collective).before(s.nranks, s.nchunks, s.root)
    return simulate(s, before)


def check(s: Schedule) -> None:
    """Returns None when the schedule keeps its collective's promise.

    Else raises ScheduleError naming rank, chunk, expected, got and the step. Ports are no part of a promise: a rank may send to
    everybody in one step, and `price` lets it take turns.
    """
    wanted = promise(s.collective)
    wanted.accepts(s.nranks, s.nchunks, s.root)
    *_, final = holdings(s)
    owed = [*wanted.after.masks(s.nranks, s.nchunks, s.root)]
    broken = [c for c, masks in enumerate(owed) if not masks.items() <= final[c].items()]
    if broken:
        rank, c = min((rank, c) for c in broken for rank, mask in owed[c].items() if final[c].get(rank) != mask)
        raise ScheduleError(_broken_promise(s, rank, c, final[c].get(rank, 0), owed[c][rank]))


def holdings(s: Schedule) -> Iterator[list[dict[int, int]]]:
    """The proof's own run, before the first and after every step: [chunk] -> {place: who is inside, and how often (`counts`)}.

    One value, changed from step to step. A place that holds nothing is not there; ScheduleError where a step wants something of it.
    """
    held = [dict(masks) for masks in promise(s.collective).before.masks(s.nranks, s.nchunks, s.root)]
    yield held
    for number, step in enumerate(s.steps, 1):
        try:
            payloads = [held[chunk][src] for src, _, chunk, _ in step]  # all is read before anything is written
            for (_, dst, chunk, op), payload in zip(step, payloads, strict=True):
                there = held[chunk]
                kept = op == "reduce" and (dst < s.nranks or dst in there)  # a switch may be added into while empty
                there[dst] = _added(there[dst], payload, s.nranks) if kept else payload
        except KeyError:
            _refuse_undefined(s, number, step, held)
        yield held


def _added(one: int, other: int, nranks: int) -> int:
    """Both together. Bit o is origin o; what is inside twice is carried to bit o + nranks, so that counts add side by side."""
    while both := one & other:
        one, other = one ^ other, both << nranks
    return one | other


def counts(inside: int, nranks: int) -> list[int]:
    """How often each origin is inside, of what `holdings` has of a place."""
    digits = [inside >> shift for shift in range(0, inside.bit_length(), nranks)]
    return [sum((digit >> origin & 1) << k for k, digit in enumerate(digits)) for origin in range(nranks)]


def _refuse_undefined(s: Schedule, number: int, step: Step, held: list[dict[int, int]]) -> None:
    """Sending, or adding into, a slot that holds nothing yet is a mistake; a switch may be added into while empty."""
    for t in step:
        for rank, verb in ((t.src, "sends"), (t.dst, "adds into")):
            needed = verb == "sends" or (t.op == "reduce" and t.dst < s.nranks)
            if needed and rank not in held[t.chunk]:
                raise ScheduleError(
                    f"step {number}, {t}: rank {rank} {verb} chunk {t.chunk}, but nothing is there yet:"
                    " expected a slot that the collective fills before, or that an earlier step copied into"
                ) from None


def _broken_promise(s: Schedule, rank: int, chunk: int, got: int, want: int) -> str:
    last = max(
        (n for n, step in enumerate(s.steps, 1) for t in step if (t.dst, t.chunk) == (rank, chunk)), default=None
    )
    touched = f"last written in step {last} of {len(s.steps)}" if last else "never written"
    return (
        f"{s.collective} by {s.algorithm}, {s.nranks} ranks: rank {rank} chunk {chunk} holds {_origins(got, s.nranks)},"
        f" should hold {_origins(want, s.nranks)} ({touched})"
    )


def _origins(inside: int, nranks: int) -> str:
    """Counts of 1, 0 and 2 -> "[0 + 2 twice]": whose contributions are inside."""
    times = {1: "", 2: " twice"}
    parts = [f"{o}{times.get(n, f' {n} times')}" for o, n in enumerate(counts(inside, nranks)) if n]
    return f"[{' + '.join(parts) or 'nothing'}]"
