"""The exercises of the chapter `hierarchy`. Each answer builds a schedule for `nodes` nodes of `gpus` GPUs, a NIC each.

Rank r is GPU r % gpus of node r // gpus; GPUs of the same place in their nodes are a rail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction

from helpers.collectives import CATALOGUE, Schedule, check, price
from helpers.units import GIB

from .answer import Answer, NotYetError, judge

Build = Callable[[int, int], Schedule]  # (nodes, gpus)
SHAPES = ((2, 2), (2, 3), (3, 2), (4, 4), (2, 8))
SLOWEST = 0.75  # of the price of the three stages one after the other


def every_nic(answer: Build) -> Answer:
    """answer(nodes, gpus) must be a broadcast from rank 0 in which no NIC receives more than 1/gpus of the buffer."""
    praise = "Proved on 2 to 4 nodes: every node gets the buffer once, a share through each of its NICs."
    return judge(_cases(), lambda case: _shared_broadcast(answer, *_shape(case)), praise)


def _shared_broadcast(answer: Build, nodes: int, gpus: int) -> None:
    s = _built(answer, nodes, gpus, "broadcast")
    if s.root != 0:
        raise NotYetError(f"{_at(nodes, gpus)}: expected a broadcast from rank 0, got root {s.root}.")
    check(s)
    received = Counter(dst for _, _, dst, _ in _across(s, gpus))
    for rank, chunks in sorted(received.items()):
        if Fraction(chunks, s.nchunks) > Fraction(1, gpus):
            raise NotYetError(
                f"{_at(nodes, gpus)}: rank {rank} receives {Fraction(chunks, s.nchunks)} of the buffer through its NIC;"
                f" with {gpus} NICs a node, 1/{gpus} is enough."
                " Hint: scatter inside the first node, broadcast along the rails, and what remains?"
            )


def along_rails(answer: Build) -> Answer:
    """answer(nodes, gpus) must be an all_to_all that crosses nodes along rails only, in at most nodes - 1 messages a rank."""
    praise = "Proved on 2 to 4 nodes: every message between nodes stays on its rail, as with PXN, and there is one for each node."
    return judge(_cases(), lambda case: _railed(answer, *_shape(case)), praise)


def _railed(answer: Build, nodes: int, gpus: int) -> None:
    s = _built(answer, nodes, gpus, "all_to_all")
    check(s)
    for number, src, dst, chunk in _across(s, gpus):
        if src % gpus != dst % gpus:
            raise NotYetError(
                f"{_at(nodes, gpus)}: step {number} sends chunk {chunk} from rank {src} to rank {dst},"
                f" from rail {src % gpus} to rail {dst % gpus}."
                f" Hint: inside its node, hand it to the GPU on rail {dst % gpus} first."
            )
    messages = Counter(src for _, src, _ in {(number, src, dst) for number, src, dst, _ in _across(s, gpus)})
    for rank, count in sorted(messages.items()):
        if count > nodes - 1:
            raise NotYetError(
                f"{_at(nodes, gpus)}: rank {rank} sends {count} messages to other nodes; one for each, {nodes - 1}, is enough."
                " Hint: collect inside before you send across."
            )


def overlapped(answer: Build, network: object) -> Answer:
    """answer(2, 8) must be an all_reduce that costs, at 1 GiB on network, a quarter less than the hierarchical one's stages in turn."""
    praise = "Proved, and NVLink and the NICs work at the same time."
    return judge([(2, 8)], lambda shape: _faster(answer, *shape, network), praise)


def _faster(answer: Build, nodes: int, gpus: int, network: object) -> None:
    s = _built(answer, nodes, gpus, "all_reduce")
    check(s)
    plain = price(
        CATALOGUE["all_reduce", "hierarchical"](nranks=nodes * gpus, gpus=gpus), GIB, network, "dataflow"
    ).seconds
    if (mine := price(s, GIB, network, "dataflow").seconds) > SLOWEST * plain:
        raise NotYetError(
            f"{_at(nodes, gpus)}: it is right and takes {mine / plain:.2f} of the time of the three stages in turn, expected {SLOWEST}."
            " Hint: two halves of the buffer; while one is across, the other is inside."
        )


def _cases() -> list[str]:
    return [f"nodes={nodes} gpus={gpus}" for nodes, gpus in SHAPES]


def _shape(case: str) -> tuple[int, ...]:
    return tuple(int(part.split("=")[1]) for part in case.split())


def _at(nodes: int, gpus: int) -> str:
    return f"At {nodes} nodes of {gpus}"


def _built(answer: Build, nodes: int, gpus: int, collective: str) -> Schedule:
    s = answer(nodes, gpus)
    if not isinstance(s, Schedule):
        raise NotYetError(f"{_at(nodes, gpus)}: expected a Schedule, got {s!r}.")
    if (s.collective, s.nranks) != (collective, nodes * gpus) or s.nswitches:
        raise NotYetError(
            f"{_at(nodes, gpus)}: expected {collective} of {nodes * gpus} ranks without switches, got {str(s).splitlines()[0]!r}."
        )
    return s


def _across(s: Schedule, gpus: int) -> Iterator[tuple[int, int, int, int]]:
    """(number of the step, src, dst, chunk) of every transfer between nodes."""
    for number, step in enumerate(s.steps, 1):
        for src, dst, chunk, _ in step:
            if src // gpus != dst // gpus:
                yield number, src, dst, chunk
