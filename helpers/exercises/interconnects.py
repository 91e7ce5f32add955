"""The exercises of the chapter `interconnects`: count copies, compare rates like for like, choose who stays inside a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

from helpers.facts import LINKS, MACHINES, Link
from helpers.nccl.transports import transport

from .answer import Answer, NotYetError, judge

Traffic = Mapping[str, tuple[int, float]]  # by name: messages of a step, and bytes of each
# machine, source, destination, whether network cards may touch GPU memory
WAYS = (
    ("HGX-H100", 0, 7, True),
    ("8xL40S", 0, 1, True),
    ("2x8-IB", 0, 8, True),
    ("2x8-IB", 0, 8, False),
    ("GB200-NVL72", 0, 71, False),
    ("4xA40", 0, 1, True),
    ("4xA40", 1, 2, True),
    ("8xMI355X", 2, 5, True),
)
# what a datasheet says, its unit, whether it counts both ways, how many such there are for each GPU; GB/s one way per GPU
SHEETS = (
    (25, "GB/s", False, 1, 25.0),
    (200, "Gb/s", False, 1, 25.0),
    (600, "GB/s", True, 1, 300.0),
    (50, "GB/s", True, 12, 300.0),
    (400, "Gb/s", False, 0.5, 25.0),
    (1.8, "TB/s", True, 1, 900.0),
)
TRAFFIC: tuple[Traffic, ...] = (
    {"tensor": (64, 2**20), "data": (1, 2**20)},
    {"data": (1, 2**30), "pipeline": (2, 2**20)},
    {"tensor": (128, 2**25), "data": (1, 2**30), "pipeline": (8, 2**25)},
    {"tensor": (4096, 2**10), "data": (1, 2**28)},
    {"tensor": (20000, 2**10), "data": (1, 2**28)},
)


def copies(answer: Callable[[str, int, int, bool], int]) -> Answer:
    """answer(machine, src, dst, gpudirect) must be how often the bytes are written into some memory on their way."""
    praise = "Right on eight ways: once where a GPU or a card writes the other's memory, once more for each stop in a host's."
    return judge(WAYS, lambda way: _copies(answer, *way), praise)


def _copies(answer: Callable[[str, int, int, bool], int], machine: str, src: int, dst: int, gpudirect: bool) -> None:
    way = transport(MACHINES[machine], src, dst, gpudirect)
    want, got = 1 + way.hops.count("host memory"), answer(machine, src, dst, gpudirect)
    if got != want:
        raise NotYetError(
            f"{machine}, rank {src} to rank {dst}, GPUDirect RDMA {'on' if gpudirect else 'off'}: expected {want}, got {got!r}."
            f" Hint: the way is {', '.join(way.hops)}; which of these is a memory?"
        )


def like_for_like(answer: Callable[[float, str, bool, float], float]) -> Answer:
    """answer(value, unit, both_ways, count) must be GB/s one way per GPU; count: how many such links or ports a GPU has."""
    return judge(SHEETS, lambda sheet: _like(answer, *sheet), "Right: six datasheets, one direction, one GPU.")


def _like(answer: Callable[..., float], value: float, unit: str, both: bool, count: float, want: float) -> None:
    got = answer(value, unit, both, count)
    if not isinstance(got, (int, float)) or abs(got - want) > 1e-9 * want:
        said = f"{value:g} {unit} {'both ways' if both else 'one way'}, {count:g} of them for each GPU"
        raise NotYetError(
            f"{said}: expected {want:g} GB/s one way per GPU, got {got!r}. Hint: bits or bytes, which ways, how many?"
        )


def stays_inside(answer: Callable[[Traffic, Link, Link], str]) -> Answer:
    """answer(traffic, inside, across) must name the one kind of traffic that should stay inside, so that a step lasts least."""
    pairs = ((LINKS["nvlink-4"], LINKS["infiniband-ndr"]), (LINKS["nvlink-3"], LINKS["infiniband-hdr"]))
    return judge(
        list(product(TRAFFIC, pairs)),
        lambda case: _inside(answer, case[0], *case[1]),
        "Right: who gains most from NVLink stays inside, by bytes or by messages.",
    )


def _inside(answer: Callable[[Traffic, Link, Link], str], traffic: Traffic, inside: Link, across: Link) -> None:
    got = answer(dict(traffic), inside, across)
    if got not in traffic:
        raise NotYetError(f"{traffic}: expected one of {', '.join(traffic)}, got {got!r}.")
    totals = {
        name: sum(
            count * (inside if other == name else across).seconds(nbytes) for other, (count, nbytes) in traffic.items()
        )
        for name in traffic
    }
    best = min(totals, key=totals.__getitem__)
    if totals[got] > totals[best]:
        raise NotYetError(
            f"{traffic}, {inside.name} and {across.name}: with {got} inside, a step talks for {totals[got] * 1e3:.3g} ms;"
            f" it could be {totals[best] * 1e3:.3g} ms. Hint: what does each kind gain by staying inside?"
        )
