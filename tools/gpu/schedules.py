"""Schedules played on these ranks: every entry of the catalogue, every reduction, and a trace of two of them."""

from __future__ import annotations

import itertools

import torch
import torch.distributed as dist

from helpers.collectives import CATALOGUE, Schedule
from helpers.ranks import execute, traced
from helpers.units import MIB

from . import scale
from .place import Place

SIZES = (1, 97, 4096)  # elements of one part
NBYTES = 64 * MIB  # of a trace, on a GPU with room
DTYPES = (
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16),
    *(torch.int8, torch.uint8, torch.int32, torch.int64),
)
OPS = {
    "sum": dist.ReduceOp.SUM,
    "prod": dist.ReduceOp.PRODUCT,
    "min": dist.ReduceOp.MIN,
    "max": dist.ReduceOp.MAX,
    "avg": dist.ReduceOp.AVG,
}
REDUCED = (("all_reduce", "ring"), ("all_reduce", "nvls"), ("reduce_scatter", "pat"), ("reduce", "binomial"))


def schedules(place: Place) -> dict:
    """All of the catalogue, switches played by ranks: equal to torch's own collective bit for bit, where sums are exact."""
    texts = [str(s) for s in _catalogue(place.nranks)]
    sizes = SIZES[1:2] if place.shared or not _room(place) else SIZES
    return _equal(place, texts, sizes, (torch.float32, torch.int64), ("sum",)) | {"schedules": len(texts)}


def reductions(place: Place) -> dict:
    """Every reduction in every dtype that NCCL and Gloo share (Gloo averages no integers), on one entry of each kind.

    Where there is little room, on the ring alone.
    """
    keys = REDUCED if _room(place) else REDUCED[:1]
    texts = [str(CATALOGUE[key](nranks=place.nranks, **({"root": 0} if key[0] == "reduce" else {}))) for key in keys]
    return _equal(place, texts, (97,), DTYPES, tuple(OPS)) | {"dtypes": len(DTYPES), "reductions": len(OPS)}


def _room(place: Place) -> bool:
    """Every rank's device has it."""
    with place.ranks() as ranks:
        return min(ranks.run(scale.mine)) >= scale.ROOM


def _equal(place: Place, *cases: object) -> dict:
    with place.ranks() as ranks:
        wrong = sorted({text for found in ranks.run(differences, *cases) for text in found})
    assert not wrong, "; ".join(wrong)
    return {}


def _catalogue(nranks: int) -> list[Schedule]:
    found = []
    for (collective, _), build in CATALOGUE.items():
        rooted = collective in ("broadcast", "reduce", "scatter", "gather")
        found += [
            build(nranks=nranks, **({"root": r} if rooted else {})) for r in ({0, nranks - 1} if rooted else (0,))
        ]
    return found


def differences(
    texts: list[str], sizes: tuple[int, ...], dtypes: tuple[torch.dtype, ...], ops: tuple[str, ...]
) -> list[str]:
    """Inside ranks: the schedules that give this rank other bits than torch, to a new tensor or, where it can be, in place."""
    wrong = []
    for text, size, dtype, op in itertools.product(texts, sizes, dtypes, ops):
        if op == "avg" and not dtype.is_floating_point and dist.get_backend() == "gloo":
            continue
        s = Schedule.parse(text)
        x = _numbers(s, size, dtype) * (s.nranks if op == "avg" else 1)
        want = _torchs(s, x.clone(), OPS[op])
        got = {"new": execute(s, x, op=op)}
        if s.collective in ("all_reduce", "broadcast"):
            got["in place"] = execute(s, y := x.clone(), y, op)
        wrong += [
            f"{s.collective} {s.algorithm}, {op} of {size} elements of {dtype}, {way}"
            for way, found in got.items()
            if not (found is want is None or (found is not None and want is not None and _same(found, want, op)))
        ]
    return wrong


def _same(got: torch.Tensor, want: torch.Tensor, op: str) -> bool:
    """NCCL multiplies floats by 1/P before it adds them: that is exact only where P is a power of two."""
    nranks = dist.get_world_size()
    if op == "avg" and got.is_floating_point() and nranks & (nranks - 1):
        return torch.allclose(got.double(), want.double(), rtol=0.02, atol=0.2)
    return torch.equal(got, want)


def _numbers(s: Schedule, size: int, dtype: torch.dtype) -> torch.Tensor:
    """Small whole numbers, different on every rank, in the shape that this rank gives to the collective."""
    parts = s.collective in ("reduce_scatter", "all_to_all") or (
        s.collective == "scatter" and dist.get_rank() == s.root
    )
    count = size * (s.nranks if parts else 1)
    return ((torch.arange(count) * 7 + dist.get_rank() * 5) % 17 - 8).to(dtype)


def _torchs(s: Schedule, x: torch.Tensor, op: dist.ReduceOp) -> torch.Tensor | None:
    """What torch's own collective gives this rank."""
    n, at_root = s.nranks, dist.get_rank() == s.root
    match s.collective:
        case "all_reduce":
            dist.all_reduce(x, op)
        case "broadcast":
            dist.broadcast(x, s.root)
        case "reduce":
            dist.reduce(x, s.root, op)
            return x if at_root else None
        case "all_gather":
            parts = [torch.empty_like(x) for _ in range(n)]
            dist.all_gather(parts, x)
            return torch.cat(parts)
        case "gather":
            parts = [torch.empty_like(x) for _ in range(n)] if at_root else None
            dist.gather(x, parts, s.root)
            return torch.cat(parts) if at_root else None
        case "reduce_scatter":
            y = x.new_empty(x.numel() // n)
            dist.reduce_scatter(y, list(x.chunk(n)), op)
            return y
        case "scatter":
            y = x.new_empty(x.numel() // n) if at_root else torch.empty_like(x)
            dist.scatter(y, list(x.chunk(n)) if at_root else None, s.root)
            return y
        case "all_to_all":
            y = torch.empty_like(x)
            dist.all_to_all_single(y, x)
            return y
    return x


def traces(place: Place) -> dict:
    """A ring and a binomial tree, every message of them stamped: the schedule's own, and on one clock."""
    found = {}
    with place.ranks() as ranks:
        nbytes = min(NBYTES, min(ranks.run(scale.mine)) // 64)
        for algorithm in ("ring", "binomial"):
            s = CATALOGUE["all_reduce", algorithm](nranks=place.nranks)
            run = found[f"trace-{algorithm}"] = traced(ranks, s, nbytes)
            want = sorted({(number, t.src, t.dst) for number, step in enumerate(s.steps, 1) for t in step})
            assert [(m["step"], m["src"], m["dst"]) for m in run["messages"]] == want, f"{algorithm}: other messages"
            late = [m for m in run["messages"] if m["recv"][1] < m["send"][0] - 2 * run["clock"]["error"]]
            assert not late, f"{algorithm}: received before it was sent: {late}"
    return found
