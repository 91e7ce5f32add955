"""The ten primitives on real ranks: the line of torch that the page shows is the line that runs here. Chapter: primitives.

What each is for, its call and the least that it moves stand in `helpers.collectives.primitives`; what its numbers must be
afterwards follows from its promise (`helpers.collectives.outcome`), and every run is held against that.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from types import CodeType
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from helpers.collectives import PRIMITIVES, find_primitive, outcome
from helpers.collectives.primitives import SHARES, Primitive

TICK = 0.01  # seconds: the unit of a barrier's arrival times
LATEST = 100  # ticks
Values = Sequence[Sequence[float] | None]

_barriers = itertools.count()  # every rank calls alike, so the numbers agree


class Moved(NamedTuple):
    """What one rank held around one call, as flat lists: before, after, and what the paper says (`expected`).

    None: this rank gives nothing there, or nothing is promised. nbytes: N, the larger of its input and output tensors (float32).
    """

    name: str
    line: str
    rank: int
    before: list[float] | None
    after: list[float] | None
    expected: list[float] | None
    nbytes: int

    @property
    def right(self) -> bool:
        """Equal to the paper within float32's last digits; whole numbers below 2^24 are exact."""
        if self.after is None or self.expected is None:
            return self.after is self.expected is None
        pairs = zip(self.after, self.expected, strict=False)
        return len(self.after) == len(self.expected) and all(math.isclose(a, b, rel_tol=1e-6) for a, b in pairs)


def example(name: str, nranks: int, root: int = 0) -> list[list[int] | None]:
    """Numbers that tell where they come from: rank r starts with 10r, 10r + 1, ...; a barrier's rank r arrives at tick r."""
    made = find_primitive(name)
    if name == "barrier":
        return [[rank] for rank in range(nranks)]
    length = nranks if made.kind == "parts" or made.reduces else 2
    numbers = [[10 * rank + i for i in range(length)] for rank in range(nranks)]
    return [mine if name != "scatter" or rank == root else None for rank, mine in enumerate(numbers)]


def perform(name: str, values: Values | None = None, root: int = 0, op: str = "sum") -> Moved:
    """Inside ranks: run one primitive on `values`, one flat list per rank (None: that rank gives nothing), by default `example`.

    root: of a rooted one; send_recv sends from it to the next rank. op: sum, avg, max, min or product, for those that reduce.
    barrier takes arrival times in ticks of 10 ms, and answers the latest time that had come when the rank left.
    Raises ValueError on every rank, before anything is sent, when the values do not fit; at least 2 ranks.
    """
    made, rank, nranks = find_primitive(name), dist.get_rank(), dist.get_world_size()
    values = example(name, nranks, root) if values is None else values
    if len(values) != nranks:
        raise ValueError(
            f"{name} wants one list of numbers per rank: these are {nranks} ranks, got {len(values)} lists"
        )
    if len({len(mine) for mine in values if mine is not None}) > 1:
        raise ValueError(f"{name} wants equally many numbers on every rank, got {values}")
    expected = outcome(name, values, root, op)[rank]
    if name == "barrier":
        return _barrier(made, values, expected)
    given = values[rank] is not None
    x = torch.tensor(values[rank] if given else [0] * len(values[root]), dtype=torch.float32)
    before = _plain(x.tolist()) if given or made.kind == "whole" else None
    after = _play(made, x, root, op)
    nbytes = x.nbytes * (nranks if made.kind == "gathers" else 1)
    return Moved(name, made.line(nranks, root, op), rank, before, _plain(after), expected, nbytes)


def perform_all(root: int = 0) -> list[Moved]:
    """Inside ranks: all ten, one after the other, on the numbers of `example`."""
    return [perform(name, root=root) for name in PRIMITIVES]


def gathered(root: int = 0) -> list[list[Moved]]:
    """Inside ranks: all ten, and what every rank saw of them, in rank order; the same answer on every rank."""
    everybody = [None] * dist.get_world_size()
    dist.all_gather_object(everybody, perform_all(root))
    return everybody


def prepared(made: Primitive, x: torch.Tensor, root: int = 0, op: str = "sum") -> tuple[dict, CodeType]:
    """The names that the page's line uses, and the line itself, compiled: eval(line, names) is one call.

    Its file is this one, so a hang report names the reader's own line above.
    """
    names = {"dist": dist, "torch": torch, "time": time, "x": x, "rank": dist.get_rank()}
    exec(made.filled("\n".join(made.prepare), dist.get_world_size(), root, op), names)
    return names, compile(made.line(dist.get_world_size(), root, op), __file__, "eval")


def _play(made: Primitive, x: torch.Tensor, root: int, op: str) -> list[float] | None:
    names, line = prepared(made, x, root, op)
    eval(line, names)
    return eval(made.filled(made.result, dist.get_world_size(), root, op), names)


def _plain(numbers: list[float] | None) -> list[float] | None:
    """Whole numbers without their ".0"."""
    return numbers and [int(number) if float(number).is_integer() else number for number in numbers]


def _barrier(made: Primitive, values: Values, expected: list[float] | None) -> Moved:
    """Every rank notes its arrival in the group's store, and looks afterwards who had arrived when it left."""
    rank, times = dist.get_rank(), [mine[0] for mine in values]
    if any(len(mine) != 1 for mine in values) or not all(0 <= moment <= LATEST for moment in times):
        raise ValueError(f"a barrier takes one arrival time per rank, 0 to {LATEST} ticks of 10 ms, got {values}")
    store = dist.PrefixStore(f"primitives/barrier/{next(_barriers)}", c10d._get_default_store())
    time.sleep(times[rank] * TICK)
    store.set(str(rank), "arrived")
    dist.barrier()
    latest = max(moment for other, moment in enumerate(times) if store.check([str(other)]))
    return Moved("barrier", made.line(len(values)), rank, [times[rank]], [latest], expected, 0)


def text(moved: Sequence[Sequence[Moved]]) -> str:
    """What `perform_all` returned on every rank, as aligned text: the same in every run with as many ranks."""
    return "\n".join(block(column) for column in zip(*moved, strict=True))


def block(moved: Sequence[Moved]) -> str:
    """One primitive: its line, its use, every rank's numbers before and after, and the least that must move."""
    made, first = PRIMITIVES[moved[0].name], moved[0]
    width = max(len(str(number)) for m in moved for held in (m.before, m.after) if held for number in held)
    before, after = ([_cells(getattr(m, when), width) for m in moved] for when in ("before", "after"))
    room, digits = max(map(len, before)), len(str(len(moved) - 1))
    rows = [
        f"  rank {m.rank:<{digits}}  {b:{room}}  ->  {a}{_wrong(m)}"
        for m, b, a in zip(moved, before, after, strict=True)
    ]
    return "\n".join([f"{first.name:15}{first.line}", f"  {made.use}", *rows, *_volumes(made, first, len(moved)), ""])


def _cells(held: list[float] | None, width: int) -> str:
    return "-" if held is None else f"[{' '.join(f'{number:>{width}}' for number in held)}]"


def _wrong(m: Moved) -> str:
    return "" if m.right else f"   WRONG: on paper {m.expected}"


def _volumes(made: Primitive, m: Moved, nranks: int) -> list[str]:
    """ "  N = 32 B; every rank sends 2N(P-1)/P = 48 B and receives as much, at least"."""
    if made.name == "barrier":
        return ["  arrival times in ticks; after: the latest arrival that this rank knew of when it left"]
    parts = []
    for v in made.volumes:
        sends, receives = (f"{share} = {SHARES[share](nranks) * m.nbytes} B" for share in (v.sends, v.receives))
        does = [f"sends {sends}"] * (v.sends != "0") + [f"receives {receives}"] * (v.receives != "0")
        parts.append(f"{v.who} {'sends and receives ' + sends if v.sends == v.receives else ' and '.join(does)}")
    return [f"  at least, with N = {m.nbytes} B: {'; '.join(parts)}"]
