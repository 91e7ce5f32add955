"""Sharded parameters, gathered while other units compute: what prefetching hides, and what it holds. Chapter: overlap.

A unit's parameters are gathered before its forward and again before its backward; its gradients are reduce_scattered after.
`prefetch` computations may lie between a gather's earliest start and its use: with 0 it begins when the computation before has ended,
with 1 beside that computation, with 2 beside the one before it, too. So up to prefetch + 1 units are held at once.

FSDP2's dials in these terms, read in torch 2.13.0 (torch/distributed/fsdp/_fully_shard), on a GPU whose host is far ahead:

forward      an all_gather waits for the copy-out of the unit two before (wait_for_unshard): prefetch 2, though only one unit is
             "prefetched"; set_modules_to_forward_prefetch with a list of L units: L + 1.
backward     it waits for the copy-out of the unit before: prefetch 1; set_modules_to_backward_prefetch with L units: L.
buffers      set_reduce_scatter_max_input_buffers, 1 by default: no computation begins while more reduce_scatters are unfinished.
             With 0 every one is waited for at once, as in helpers.parallel.zero.
separate     set_separate_reduce_scatter_group: by default both collectives go through one communicator, in the order of their calls,
             so that a gather stands behind the reduce_scatter that was called before it.
reshard      reshard_after_forward: without, parameters stay, and backward gathers nothing.

Replicas     a mesh of two dimensions (HSDP): every reduce_scatter is followed by an all_reduce of the shard, in a communicator and on a
             stream of its own, which no computation of this backward waits for (foreach_reduce in _fsdp_collectives.py).

host_ahead   a host that computes by itself, as on a CPU, calls backward's first gather when forward has ended: one more is exposed.

A GPU's host that falls behind calls later too, and then less is hidden. The root's parameters, which stay, are a unit with `kept`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .lanes import COMPUTE, Key, Op, run
from .outcome import Call, Overlap, SecondsOf, Span, duration, priced, size

Ahead = int | None
FSDP2: tuple[int, int] = (2, 1)  # in forward and in backward, as it comes


class Unit(NamedTuple):
    """Seconds of its forward and of its backward; bytes of its parameters when they are gathered.

    reduced: bytes of its gradients as they are reduced, where their type is another one. kept: it stays gathered until its backward,
    as FSDP2's root does.
    """

    forward: float
    backward: float
    nbytes: int
    reduced: int | None = None
    kept: bool = False

    @property
    def gradients(self) -> int:
        """Bytes of its reduce_scatter."""
        return self.nbytes if self.reduced is None else self.reduced


class Replicas(NamedTuple):
    """Several replicas, each shared out among `nshards` ranks. seconds_of: of an all_reduce of so many bytes of a shard.

    apart: it has a link of its own, as where replicas are in other nodes; else it shares that of the gathers.
    """

    nshards: int
    seconds_of: SecondsOf
    apart: bool = True


def gathered(
    units: Sequence[Unit],
    prefetch: Ahead | tuple[Ahead, Ahead],
    seconds_of: SecondsOf,
    *,
    reshard: bool = True,
    buffers: Ahead = 1,
    separate: bool = False,
    host_ahead: bool = True,
    replicas: Replicas | None = None,
) -> Overlap:
    """A step of `units`, in the order of forward: two lanes that compute and communicate.

    prefetch: for both passes, or (forward, backward); None for no limit. Backward's gathers never begin before forward's last but
    one computation has ended, without host_ahead not before its last. seconds_of: of an all_gather or a reduce_scatter of so many
    bytes (nccl-tests' size, the unit's). buffers: None for no limit. separate: reduce_scatters in a queue of their own; the link
    still serves one call at a time, the first that is ready, gathers before others, since two calls at once would share it.
    replicas: None where there is one alone.
    ValueError for what is no time, size or number.
    """
    forward, backward = _both(prefetch)
    nshards = replicas.nshards if replicas else 1
    _check(units, (("prefetch", forward, 0), ("prefetch", backward, 0), ("buffers", buffers, 0)))
    if isinstance(nshards, bool) or not isinstance(nshards, int) or nshards < 1:
        raise ValueError(f"a replica is shared out among 1 rank or more, got {nshards!r}")
    turn = len(units) - (2 if host_ahead else 1)  # the computation that backward's gathers come after
    ops = _ops(units, (forward, backward), seconds_of, reshard, buffers, turn)
    if replicas:
        ops += [_added_up(units, use, replicas) for use in range(len(units), 2 * len(units))]
    kinds = [("all_gather",), ("reduce_scatter",)] if separate else [("all_gather", "reduce_scatter")]
    queues = [[op for op in ops if op.key[0] in those] for those in [(COMPUTE,), *kinds, ("all_reduce",)]]
    links = [*(1 for _ in kinds), 2 if replicas and replicas.apart else 1]
    return _told(units, ops, run(queues, links), reshard, nshards)


def _both(prefetch: Ahead | tuple[Ahead, Ahead]) -> tuple[Ahead, Ahead]:
    if not isinstance(prefetch, tuple):
        return prefetch, prefetch
    if len(prefetch) != 2:
        raise ValueError(f"prefetch is one number, or (forward, backward), got {prefetch!r}")
    return prefetch


def _check(units: Sequence[Unit], limits: tuple[tuple[str, Ahead, int], ...]) -> None:
    if not units:
        raise ValueError("expected units, each (seconds of forward, of backward, bytes), got none")
    for place, unit in enumerate(units):
        duration(f"forward of unit {place}", unit.forward)
        duration(f"backward of unit {place}", unit.backward)
        size(f"unit {place}", unit.nbytes)
        size(f"gradients of unit {place}", unit.gradients)
    for name, value, least in limits:
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise ValueError(f"{name} is a whole number of at least {least}, or None for no limit, got {value!r}")


def _ops(
    units: Sequence[Unit], ahead: tuple[Ahead, Ahead], seconds_of: SecondsOf, reshard: bool, buffers: Ahead, turn: int
) -> list[Op]:
    """In the order in which the host calls them: what is prefetched, the computation, the gradients of it.

    Computations are numbered: n forwards, then n backwards, and a gather and a reduce_scatter have their computation's number.
    """
    n, asked = len(units), 0
    ops: list[Op] = []
    for use in range(2 * n):
        last, limit = (n - 1, ahead[0]) if use < n else (2 * n - 1, ahead[1])
        until = last if limit is None else min(use + limit, last)
        for number in range(asked, until + 1):
            if number < n or (reshard and not units[_unit(number, n)].kept):
                ops.append(_gather(units, number, limit, seconds_of, turn))
        asked = max(asked, until + 1)
        ops.append(_computation(units, use, reshard, buffers))
        if use >= n:
            seconds = priced(seconds_of, units[_unit(use, n)].gradients)
            ops.append(Op(("reduce_scatter", use), seconds, ((COMPUTE, use),)))
    return ops


def _unit(use: int, n: int) -> int:
    return use if use < n else 2 * n - 1 - use


def _gather(units: Sequence[Unit], use: int, limit: Ahead, seconds_of: SecondsOf, turn: int) -> Op:
    n = len(units)
    behind = -1 if limit is None else use - 1 - limit
    if use >= n:
        behind = max(behind, turn)
    after: tuple[Key, ...] = ((COMPUTE, behind),) if behind >= 0 else ()
    return Op(("all_gather", use), priced(seconds_of, units[_unit(use, n)].nbytes), after)


def _computation(units: Sequence[Unit], use: int, reshard: bool, buffers: Ahead) -> Op:
    n = len(units)
    unit = units[_unit(use, n)]
    after: list[Key] = [("all_gather", use)] if use < n or (reshard and not unit.kept) else []
    if buffers is not None and use - 1 - buffers >= n:
        after.append(("reduce_scatter", use - 1 - buffers))
    return Op((COMPUTE, use), unit.forward if use < n else unit.backward, tuple(after))


def _added_up(units: Sequence[Unit], use: int, replicas: Replicas) -> Op:
    """The all_reduce of a shard of a unit's gradients."""
    nbytes = _shard(units[_unit(use, len(units))], replicas.nshards)
    return Op(("all_reduce", use), priced(replicas.seconds_of, nbytes), (("reduce_scatter", use),))


def _shard(unit: Unit, nshards: int) -> int:
    return -(-unit.gradients // nshards)


def _told(units: Sequence[Unit], ops: list[Op], spans: dict[Key, Span], reshard: bool, nshards: int) -> Overlap:
    n = len(units)
    links = sorted((op for op in ops if op.key[0] != COMPUTE), key=lambda op: spans[op.key])
    held: list[tuple[float, float, int]] = []
    waiting: list[tuple[float, float, int]] = []
    for kind, use in (op.key for op in links):
        unit, start = units[_unit(use, n)], spans[kind, use][0]
        if kind == "all_gather":
            until = use if reshard and not unit.kept else 2 * n - 1 - use
            held.append((start, spans[COMPUTE, until][1], unit.nbytes))
        elif kind == "reduce_scatter":
            waiting.append((spans[COMPUTE, use][1], spans[kind, use][1], unit.gradients))
    return Overlap(
        computed=sum(op.seconds for op in ops if op.key[0] == COMPUTE),
        computing=tuple(spans[COMPUTE, use] for use in range(2 * n)),
        calls=tuple(_call(op.key[0], _unit(op.key[1], n), units, nshards) for op in links),
        spans=tuple(spans[op.key] for op in links),
        gathered=most(held),
        gradients=most(waiting),
    )


def _call(kind: str, place: int, units: Sequence[Unit], nshards: int) -> Call:
    unit = units[place]
    sizes = {"all_gather": unit.nbytes, "reduce_scatter": unit.gradients, "all_reduce": _shard(unit, nshards)}
    return Call(kind, place, sizes[kind])


def most(held: Sequence[tuple[float, float, int]]) -> int:
    """The most bytes at once, of (start, end, bytes); what ends at a moment has gone before what starts at it."""
    changes = sorted([(start, 1, nbytes) for start, _, nbytes in held] + [(end, 0, -nbytes) for _, end, nbytes in held])
    now = peak = 0
    for _, _, change in changes:
        now += change
        peak = max(peak, now)
    return peak
