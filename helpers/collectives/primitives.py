"""The ten primitives on paper: torch's call, the promise, the least that must move, where training uses it. Chapter: primitives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .promises import PROMISES, Promise, State, peer

# The least that must move, as a share of N for P ranks. N is nccl-tests' size: the larger of one rank's input and output.
SHARES: dict[str, Callable[[int], Fraction]] = {
    "0": lambda p: Fraction(0),
    "N": lambda p: Fraction(1),
    "N/P": lambda p: Fraction(1, p),
    "N(P-1)/P": lambda p: Fraction(p - 1, p),
    "2N(P-1)/P": lambda p: Fraction(2 * (p - 1), p),
}

# Whom a volume is about: (rank, nranks, root) -> is this rank meant?
ROLES: dict[str, Callable[[int, int, int], bool]] = {
    "every rank": lambda rank, nranks, root: True,
    "the root": lambda rank, nranks, root: rank == root,
    "every other rank": lambda rank, nranks, root: rank != root,
    "the sender": lambda rank, nranks, root: rank == root,
    "the receiver": lambda rank, nranks, root: rank == peer(root, nranks),
}


@dataclass(frozen=True)
class Volume:
    """What a rank of a role must at least send and receive, as keys of SHARES."""

    who: str
    sends: str
    receives: str


@dataclass(frozen=True)
class Primitive:
    """One primitive, as a rank runs it: x is its input, a tensor of one dimension; rank is its number.

    call: the line of torch, with {root}, {peer}, {nranks} and {OP} open; prepare: the lines before it; result: its output as a list.
    kind: "whole" (the rank's buffer is the message), "gathers" (one part in, all parts out), "parts" (all parts in).
    even: the volumes are reached when the work is shared evenly; otherwise each holds for its rank alone, whatever the others do.
    """

    name: str
    kind: str
    call: str
    use: str
    volumes: tuple[Volume, ...]
    promise: Promise
    prepare: tuple[str, ...] = ()
    result: str = "x.tolist()"
    reduces: bool = False
    even: bool = False

    @property
    def rooted(self) -> bool:
        return self.promise.rooted

    def line(self, nranks: int, root: int = 0, op: str = "sum") -> str:
        """The call as it runs: `dist.reduce(x, dst=2, op=dist.ReduceOp.SUM)`."""
        return self.filled(self.call, nranks, root, op)

    def filled(self, text: str, nranks: int, root: int = 0, op: str = "sum") -> str:
        """One of this primitive's lines without its open places."""
        return text.format(root=root, peer=peer(root, nranks), nranks=nranks, OP=op.upper())

    def least(self, rank: int, nranks: int, root: int = 0) -> tuple[Fraction, Fraction]:
        """(sent, received): the least that a rank must move, as shares of N."""
        meant = next((v for v in self.volumes if ROLES[v.who](rank, nranks, root)), Volume("", "0", "0"))
        return SHARES[meant.sends](nranks), SHARES[meant.receives](nranks)


# After a send the receiver holds the sender's data, and the sender keeps it.
SEND_RECV = Promise(
    "send_recv", PROMISES["broadcast"].before, State("root and next", "root", -1), lambda n: 1.0, rooted=True
)
# Nobody leaves before the last has arrived: on arrival times, a barrier is an all_reduce of their maximum.
BARRIER = Promise("barrier", PROMISES["all_reduce"].before, PROMISES["all_reduce"].after, lambda n: 0.0)


def _all(sends: str, receives: str | None = None) -> tuple[Volume, ...]:
    return (Volume("every rank", sends, receives or sends),)


def _root(root: tuple[str, str], others: tuple[str, str]) -> tuple[Volume, ...]:
    return Volume("the root", *root), Volume("every other rank", *others)


def _collective(name: str, kind: str, call: str, use: str, volumes: tuple[Volume, ...], **rest: Any) -> Primitive:
    return Primitive(name, kind, call, use, volumes, PROMISES[name], **rest)


PRIMITIVES: dict[str, Primitive] = {
    p.name: p
    for p in (
        _collective(
            "all_reduce",
            "whole",
            "dist.all_reduce(x, op=dist.ReduceOp.{OP})",
            "DDP sums every rank's gradients, so that all replicas take the same step.",
            _all("2N(P-1)/P"),
            reduces=True,
            even=True,
        ),
        _collective(
            "reduce",
            "whole",
            "dist.reduce(x, dst={root}, op=dist.ReduceOp.{OP})",
            "Logging adds up a loss or a count on the one rank that writes it down.",
            _root(("0", "N"), ("N", "0")),
            result="x.tolist() if rank == {root} else None",
            reduces=True,
        ),
        _collective(
            "broadcast",
            "whole",
            "dist.broadcast(x, src={root})",
            "DDP starts by copying rank 0's parameters and buffers to every replica.",
            _root(("N", "0"), ("0", "N")),
        ),
        _collective(
            "all_gather",
            "gathers",
            "dist.all_gather_into_tensor(out, x)",
            "FSDP puts a layer's shards together before its forward, and again before its backward.",
            _all("N(P-1)/P"),
            prepare=("out = torch.empty({nranks} * len(x))",),
            result="out.tolist()",
            even=True,
        ),
        _collective(
            "reduce_scatter",
            "parts",
            "dist.reduce_scatter_tensor(out, x, op=dist.ReduceOp.{OP})",
            "FSDP sums a layer's gradients and leaves each rank the shard that it owns.",
            _all("N(P-1)/P"),
            prepare=("out = torch.empty(len(x) // {nranks})",),
            result="out.tolist()",
            reduces=True,
            even=True,
        ),
        _collective(
            "scatter",
            "parts",
            "dist.scatter(out, parts, src={root})",
            "Loading: one rank reads a large batch and hands every rank its part.",
            _root(("N(P-1)/P", "0"), ("0", "N/P")),
            prepare=(
                "out = torch.empty(len(x) // {nranks})",
                "parts = list(x.chunk({nranks})) if rank == {root} else None",
            ),
            result="out.tolist()",
        ),
        _collective(
            "gather",
            "gathers",
            "dist.gather(x, parts, dst={root})",
            "Evaluation collects every rank's predictions on the one that writes the report.",
            _root(("0", "N(P-1)/P"), ("N/P", "0")),
            prepare=("parts = [torch.empty_like(x) for _ in range({nranks})] if rank == {root} else None",),
            result="torch.cat(parts).tolist() if rank == {root} else None",
        ),
        _collective(
            "all_to_all",
            "parts",
            "dist.all_to_all_single(out, x)",
            "A mixture of experts sends tokens to the ranks of their experts, and a second call brings them back.",
            _all("N(P-1)/P"),
            prepare=("out = torch.empty_like(x)",),
            result="out.tolist()",
        ),
        Primitive(
            "send_recv",
            "whole",
            "dist.send(x, dst={peer}) if rank == {root} else dist.recv(x, src={root}) if rank == {peer} else None",
            "A pipeline hands a stage's activations to the next stage; the gradients come back the same way.",
            (Volume("the sender", "N", "0"), Volume("the receiver", "0", "N")),
            SEND_RECV,
            result="x.tolist() if rank in ({root}, {peer}) else None",
        ),
        Primitive(
            "barrier",
            "whole",
            "dist.barrier()",
            "A benchmark starts its clock, and a checkpoint is read, only when every rank is there.",
            _all("0"),
            BARRIER,
            prepare=("start = time.perf_counter()", "time.sleep(x.item() / 1000)  # this rank is busy for so many ms"),
            result="[1000 * (time.perf_counter() - start)]",
        ),
    )
}


def find_primitive(name: str) -> Primitive:
    """A primitive by name. ValueError on an unknown one."""
    if name not in PRIMITIVES:
        raise ValueError(f"unknown primitive {name!r}: expected one of {', '.join(PRIMITIVES)}")
    return PRIMITIVES[name]
