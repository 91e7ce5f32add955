"""What a schedule costs under the alpha-beta model: a call takes its seconds, and a message of n bytes alpha + n * beta.

Source: Hockney 1994; Thakur, Rabenseifner, Gropp 2005. A network that knows protocols has a call, an alpha and a beta for each, and
the schedule goes by the cheapest, as NCCL's do. The model knows no compute; congestion only where the network tells of wires that
messages share. Chapters: ring, latency-bandwidth, hierarchy.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from .dataflow import dataflow
from .ports import Flow, Network, Tariff, call, chunk_nbytes, flows, kinds, named, under
from .promises import promise
from .schedule import Schedule
from .transfers import ScheduleError

RULES = ("steps", "dataflow", "in flight")


@dataclass(frozen=True)
class StepPrice:
    """One step: how long it lasts, and the two parts of that on its busiest port or wire (both in seconds)."""

    seconds: float
    alpha: float
    transfer: float


@dataclass(frozen=True)
class Price:
    """seconds in all; algbw = nbytes / seconds; busbw = algbw * the collective's factor (bytes per second, one way per GPU).

    steps: one entry a step; under the dataflow rule a single one, the chain of messages that finishes last. They follow `call`,
    the seconds before the first message. protocol: by which it goes, where the network knows any.
    """

    nbytes: int
    seconds: float
    algbw: float
    busbw: float
    steps: tuple[StepPrice, ...]
    call: float = 0.0
    protocol: str = ""


def price(s: Schedule, nbytes: int, network: Network, rule: str = "steps", protocol: str | None = None) -> Price:
    """All chunks from src to dst in a step are one message, which keeps both its ports for alpha + bytes * beta; ports serve in turn.

    rule "steps": nobody begins a step before everybody has finished the one before, so a step lasts as long as its busiest port,
    which pays alpha once for every message, or as its busiest wire, which pays one alpha and all the bytes.
    rule "dataflow": a message leaves as soon as its chunks are there and its ports are free, whatever step the others are in; it
    pays the same alpha on the same ports. Never dearer than "steps"; equal where all ranks do the same, as in a ring on equal links.
    rule "in flight": the same, but a message keeps its ports for its bytes alone, and its alpha passes while others follow it, as a
    GPU's loads and stores to many peers do; into a rank's registers and out of them (one-shot) it costs that rank nothing.
    Through a switch that the network knows (NVLS), any rule: the switch works while data comes in, so the whole lasts as long as
    the port with the most bytes, and its steps share that time as they would share it one after another.
    nbytes: nccl-tests' size, the larger of one rank's input and output. network: a Link, or a topology with link(src, dst).
    protocol: the cheapest that the network knows, unless told; ValueError for one that it does not.
    """
    _whole_enough(nbytes)
    if rule not in RULES:
        raise ScheduleError(f"rule must be one of {', '.join(RULES)}, got {rule!r}")
    moves, factor = _moves(s, network), promise(s.collective).bus_factor(s.nranks)
    paid = [(line, _steps(s, moves, nbytes, line, rule)) for line in _lines(s, network, protocol)]
    line, steps = min(paid, key=lambda one: _seconds(*one))
    seconds = _seconds(line, steps)
    algbw = nbytes / seconds if seconds else math.inf if nbytes else 0.0
    begun = call(line) if steps else 0.0
    return Price(nbytes, seconds, algbw, algbw * factor if factor else 0.0, steps, begun, named(line))


def _moves(s: Schedule, network: Network) -> list[Flow]:
    """The messages of every step; on equal links, where none streams through a switch, those of the first step that costs the same."""
    moves = flows(s)
    link: object = network.link(0, 1)
    more = any(getattr(network, name, None) for name in ("ports", "wires", "streams"))
    if more or link is not network or (s.nswitches and not s.registers):
        return moves
    first: dict[frozenset[tuple[int, ...]], Flow] = {}
    same = {flow: first.setdefault(kinds(flow, s.nranks), flow) for flow in dict.fromkeys(moves)}
    return [same[flow] for flow in moves]


def _lines(s: Schedule, network: Network, protocol: str | None) -> tuple[Network, ...]:
    """Under which lines it may go: a switch has its own, which ranks' registers are not."""
    switch = getattr(network, "switch", None) if s.nswitches and not s.registers else None
    return under(switch.line(s.nranks) if switch else network, protocol)


def _steps(s: Schedule, moves: Sequence[Flow], nbytes: float, line: Network, rule: str) -> tuple[StepPrice, ...]:
    tariff = Tariff(s.nranks, chunk_nbytes(s, nbytes), line)
    if s.nswitches and getattr(line, "streams", False):
        return _streamed(moves, tariff)
    if rule == "steps":
        return _step_locked(moves, tariff)
    return (StepPrice(*dataflow(s, tariff, in_flight=rule == "in flight")),) if moves else ()


def _seconds(line: Network, steps: tuple[StepPrice, ...]) -> float:
    """A schedule without steps, of a single rank, is no call."""
    return math.fsum([call(line), *(step.seconds for step in steps)]) if steps else 0.0


def _streamed(moves: Sequence[Flow], tariff: Tariff) -> tuple[StepPrice, ...]:
    """The time of the port with the most bytes in all, shared out among the steps."""
    ports: dict[Hashable, float] = defaultdict(float)
    for (src, dst), nchunks in (message for flow in moves for message in flow):
        ends, _, transfer, _ = tariff.charge(src, dst, nchunks)
        for port in ends:
            ports[port] += transfer
    steps = _step_locked(moves, tariff)
    alone = math.fsum(step.transfer for step in steps)
    share = max(ports.values(), default=0) / alone if alone else 1.0
    return tuple(replace(step, seconds=share * step.transfer, transfer=share * step.transfer) for step in steps)


def _step_locked(steps: Sequence[Flow], tariff: Tariff) -> tuple[StepPrice, ...]:
    """Steps with the same messages cost the same: each kind is worked out once."""
    known: dict[Flow, StepPrice] = {}
    return tuple(known[flow] if flow in known else known.setdefault(flow, _price_step(flow, tariff)) for flow in steps)


def _price_step(flow: Flow, tariff: Tariff) -> StepPrice:
    """Of every port, and of every wire: seconds of alpha, and of bytes."""
    ports: dict[Hashable, tuple[float, float]] = {}
    wires: dict[Hashable, tuple[float, float]] = {}
    for (src, dst), nchunks in flow:
        ends, alpha, transfer, shared = tariff.charge(src, dst, nchunks)
        for port in ends:
            waited, sent = ports.get(port, (0.0, 0.0))
            ports[port] = waited + alpha, sent + transfer
        for wire, transfer in shared:
            waited, sent = wires.get(wire, (0.0, 0.0))
            wires[wire] = max(waited, alpha), sent + transfer
    alpha, transfer = max((*ports.values(), *wires.values()), key=sum)
    return StepPrice(alpha + transfer, alpha, transfer)


def crossover(short: Schedule, long: Schedule, network: Network, most: int = 2**50) -> int:
    """The smallest nbytes (whole) from which `long` costs no more than `short`, found by bisection. Chapters: ring, latency-bandwidth.

    Step by step, each by its cheapest protocol. Where they cross more than once, as protocols may make them, it is one of the sizes.
    Raises ScheduleError unless `short` is cheaper at 1 byte and `long` at `most` bytes.
    """
    moves = {id(s): _moves(s, network) for s in (short, long)}

    def seconds(s: Schedule, nbytes: int) -> float:
        return min(_seconds(line, _steps(s, moves[id(s)], nbytes, line, "steps")) for line in _lines(s, network, None))

    def long_wins(nbytes: int) -> bool:
        return seconds(long, nbytes) <= seconds(short, nbytes)

    if long_wins(1) and not long_wins(most):
        raise ScheduleError(
            f"{long.algorithm} is the cheaper at 1 byte and {short.algorithm} at {most} bytes on {short.nranks} ranks:"
            f" the one for short messages comes first, crossover({long.algorithm}, {short.algorithm}, ...)"
        )
    if long_wins(1) or not long_wins(most):
        raise ScheduleError(
            f"{short.algorithm} and {long.algorithm} do not cross between 1 and {most} bytes on {short.nranks} ranks:"
            f" {'the second' if long_wins(1) else 'the first'} is cheaper throughout"
        )
    low, high = 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if long_wins(middle) else (middle, high)
    return high


def _whole_enough(nbytes: object) -> None:
    if isinstance(nbytes, bool) or not isinstance(nbytes, (int, float)) or not math.isfinite(nbytes) or nbytes < 0:
        raise ScheduleError(f"nbytes must be a number of bytes >= 0, got {nbytes!r}")
