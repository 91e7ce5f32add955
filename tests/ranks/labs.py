"""Functions that the tests run on ranks. Without pytest, so that a rank imports it in no time."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
import time
from collections.abc import Iterator
from itertools import cycle
from typing import NamedTuple

import torch
import torch.distributed as dist

from helpers.collectives import CATALOGUE, Schedule
from helpers.ranks import execute

WAYS = ("new", "out", "in place")


class Case(NamedTuple):
    """A schedule's text, the shape of what a rank gives (of a scatter: of what the root gives), a dtype and a reduction."""

    text: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    op: str = "sum"
    ways: tuple[str, ...] = WAYS


def exact(shape: tuple[int, ...] | int, dtype: torch.dtype, seed: int, op: str = "sum") -> torch.Tensor:
    """Whole numbers so small that every partial result is exact in every dtype: any order of additions gives the same bits."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    x = torch.randint(-8, 8, shape, generator=_generator(seed), device="cpu")
    if op == "prod":
        x = 2 ** (x % 2) * (1 - 2 * (x % 3 % 2))  # 1, 2, -1 or -2
    if op == "avg":
        x *= dist.get_world_size()  # however it is divided, nothing is rounded
    return x.to(torch.get_default_device(), dtype)


def _generator(seed: int) -> torch.Generator:
    return torch.Generator(device="cpu").manual_seed(1000 * seed + dist.get_rank())


def torch_result(collective: str, x: torch.Tensor, root: int | None, op: str = "sum") -> torch.Tensor | None:
    """What torch.distributed's own collective gives this rank."""
    nranks, rank = dist.get_world_size(), dist.get_rank()
    gathered = (x.shape[0] * nranks, *x.shape[1:])
    shared = (x.shape[0] // nranks, *x.shape[1:])
    reduction = getattr(dist.ReduceOp, {"prod": "PRODUCT"}.get(op, op.upper()))
    match collective:
        case "all_reduce":
            y = x.clone()
            dist.all_reduce(y, reduction)
        case "reduce":
            y = x.clone()
            dist.reduce(y, root, reduction)
            return y if rank == root else None
        case "broadcast":
            y = x.clone()
            dist.broadcast(y, root)
        case "all_gather":
            y = x.new_empty(gathered)
            dist.all_gather_into_tensor(y, x)
        case "reduce_scatter":
            y = x.new_empty(shared)
            dist.reduce_scatter_tensor(y, x.clone(), reduction)
        case "all_to_all":
            y = torch.empty_like(x)
            dist.all_to_all_single(y, x)
        case "gather":
            y = x.new_empty(gathered) if rank == root else None
            dist.gather(x, list(y.chunk(nranks)) if rank == root else None, root)
        case "scatter":
            y = x.new_empty(shared) if rank == root else x.clone()
            dist.scatter(y, list(x.contiguous().chunk(nranks)) if rank == root else None, root)
    return y


def differences(cases: list[tuple]) -> list[str]:
    """Every case in which execute and torch differ in a bit, a shape or a dtype: to a new tensor, to another one, and in place."""
    wrong, wanted = [], {}
    for case in (Case(*case) for case in cases):
        s, dtype = _parsed(case.text), getattr(torch, case.dtype)
        shape = case.shape
        if s.collective == "scatter" and dist.get_rank() != s.root:
            shape = (shape[0] // s.nranks, *shape[1:])
        x = exact(shape, dtype, len(case.shape) + sum(case.shape), case.op)
        key = s.collective, s.root, *case[1:4]
        if key not in wanted:
            wanted[key] = torch_result(s.collective, x, s.root, case.op)
        for way, given, out in (found for found in _ways(s, x) if found[0] in case.ways):
            kept = given.clone()
            got, want = execute(s, given, out, case.op), wanted[key]
            right = _same(got, want) and (got is out or out is None or want is None)
            if not right or not (way == "in place" or torch.equal(given, kept)):
                wrong.append(f"{s.collective} {s.algorithm} {s.nranks} {case[1:4]} {way}: {got} is not {want}")
    return wrong


@functools.lru_cache(maxsize=8)
def _parsed(text: str) -> Schedule:
    return Schedule.parse(text)


def _same(got: torch.Tensor | None, want: torch.Tensor | None) -> bool:
    """Both None, or alike to the last bit; of booleans, in what they say: Gloo's sum of three leaves the byte 3 in them."""
    if got is None or want is None:
        return got is want
    bits = [t.contiguous().view(-1).view(torch.uint8) for t in (got, want)]
    if got.dtype == torch.bool:
        bits = [b != 0 for b in bits]
    return got.dtype == want.dtype and got.shape == want.shape and torch.equal(*bits)


def _ways(s: Schedule, x: torch.Tensor) -> Iterator[tuple[str, torch.Tensor, torch.Tensor | None]]:
    """(name, what is given, out): as torch's own collectives may share memory in place, a part with the whole."""
    rank, nranks, at_root = dist.get_rank(), s.nranks, dist.get_rank() == s.root
    yield "new", x, None
    if s.collective == "all_gather" or (s.collective == "gather" and at_root):
        rows = x.shape[0]
        whole = x.new_zeros((nranks * rows, *x.shape[1:]))
        yield "out", x, whole.clone()
        whole[rank * rows : (rank + 1) * rows] = x
        yield "in place", whole[rank * rows : (rank + 1) * rows], whole
    elif s.collective == "reduce_scatter" or (s.collective == "scatter" and at_root):
        rows, whole = x.shape[0] // nranks, x.clone()
        yield "out", x, x.new_zeros((rows, *x.shape[1:]))
        yield "in place", whole, whole[rank * rows : (rank + 1) * rows]
    else:
        same = x.clone()
        yield "out", x, torch.zeros_like(x)
        yield "in place", same, same


def rooted(collective: str) -> bool:
    return collective in ("broadcast", "reduce", "scatter", "gather")


def schedules(nranks: int, roots: bool = True) -> list[Schedule]:
    """The whole catalogue; rooted ones from the first rank and, if `roots`, from the last."""
    found = []
    for (collective, _), build in CATALOGUE.items():
        for root in sorted({0, nranks - 1}) if rooted(collective) else (None,):
            if roots or not root:
                found.append(build(nranks=nranks, **({} if root is None else {"root": root})))
    return found


def cases(nranks: int, sizes: tuple[int, ...] = (97, 4096), thin: bool = False) -> list[Case]:
    """The whole catalogue, at sizes 0, 1, P-1, P, P+1 and these, and in several dimensions, in floats and integers.

    thin: the ways take turns, so that every schedule sees each of them at a third of the shapes, and not all at every shape.
    """
    found = []
    for turn, s in enumerate(schedules(nranks)):
        times = nranks if s.collective in ("reduce_scatter", "scatter", "all_to_all") else 1
        counts = sorted({0, 1, nranks - 1, nranks, nranks + 1, *sizes})
        shapes = [
            *(((n * times,), "float32") for n in counts),
            ((nranks * 3, 5), "int64"),
            ((nranks * 2, 2, 3), "float64"),
        ]
        for place, shape in enumerate(shapes, turn):
            found.append(Case(str(s), *shape, ways=(WAYS[place % 3],) if thin else WAYS))
    return found


# What torch.distributed takes over Gloo (found by asking torch 2.13): dtypes by reduction. Its gather takes no complex numbers.
FLOATS, INTEGERS = ["float32", "float64", "float16", "bfloat16"], ["int8", "uint8", "int32", "int64", "bool"]
DTYPES = {
    "sum": [*FLOATS, *INTEGERS, "complex64", "complex128"],
    "prod": FLOATS + INTEGERS,
    "min": FLOATS + INTEGERS,
    "max": FLOATS + INTEGERS,
    "avg": [*FLOATS, "complex64"],
    "band": INTEGERS,
    "bor": INTEGERS,
    "bxor": INTEGERS,
}


def typed(nranks: int, thin: bool = False) -> list[Case]:
    """The whole catalogue in every dtype by every reduction that torch.distributed has over Gloo; the ways take turns.

    thin: the dtypes take turns as well: a schedule sums three of them and does every other reduction in one.
    """
    found, ways, turns = [], cycle(WAYS), {op: cycle(dtypes) for op, dtypes in DTYPES.items()}

    def chosen(op: str, dtypes: list[str]) -> list[str]:
        return [next(turns[op]) for _ in range(3 if op == "sum" else 1)] if thin else dtypes

    for s in schedules(nranks, roots=False):
        ops = DTYPES if s.collective in ("all_reduce", "reduce", "reduce_scatter") else {"sum": DTYPES["sum"]}
        shape = (nranks * 3 + (s.collective in ("all_reduce", "reduce", "broadcast")),)
        for op, dtypes in ops.items():
            found += [
                Case(str(s), shape, dtype, op, (next(ways),))
                for dtype in chosen(op, dtypes)
                if not (s.collective == "gather" and dtype.startswith("complex"))
            ]
    return found


# what ranks may do --------------------------------------------------------------------------------------------------
def ones(n: int = 1024) -> torch.Tensor:
    return torch.ones(n)


def healthy() -> float:
    x = ones(4)
    dist.all_reduce(x)
    return x.sum().item()


def last() -> bool:
    return dist.get_rank() == dist.get_world_size() - 1


class Unpicklable(Exception):
    def __reduce__(self):
        raise TypeError("not me")


class Exploding:
    """Pickles well and raises when it is read back."""

    def __init__(self, where: str):
        self.where = where

    def __reduce__(self):
        return explode, (self.where,)


def explode(where: str) -> None:
    if where == ("rank" if dist.is_initialized() else "parent"):
        raise ArithmeticError("cannot be read back")


class Slow:
    def __reduce__(self):
        raise SystemExit("pickling ends the process")


def raises_on_last():
    if last():
        raise ValueError("boom")
    dist.all_reduce(ones())


def raises_on_all():
    raise KeyError("k")


def raises_unpicklable():
    if last():
        raise Unpicklable("odd")
    dist.all_reduce(ones())


def says_a_peer_left():
    if last():
        raise RuntimeError("Connection closed by peer, says the reader's own code")
    dist.all_reduce(ones())


def dies_by(signum: int):
    if last():
        os.kill(os.getpid(), signum)
        time.sleep(60)
    dist.all_reduce(ones())


def segfaults():
    if last():
        ctypes.string_at(0)
    dist.all_reduce(ones())


def exits(code: int):
    if last():
        os._exit(code)
    dist.all_reduce(ones())


def sys_exits():
    if last():
        sys.exit(0)
    dist.all_reduce(ones())


def returns_early():
    if not last():
        dist.all_reduce(ones())


def skips_and_sleeps():
    if last():
        time.sleep(60)
    dist.all_reduce(ones())


def skips_and_keeps_the_gil():
    if last():
        sum(range(10**12))
    dist.all_reduce(ones())


def differs_in_op():
    for _ in range(3):
        dist.all_reduce(ones())
    if last():
        dist.broadcast(ones(), 0)
    else:
        dist.all_reduce(ones())


def differs_in_size():
    dist.all_reduce(ones(512 if last() else 1024))


def differs_in_dtype():
    dist.all_reduce(ones(8).to(torch.int32 if last() else torch.float32))


def differs_in_root():
    dist.broadcast(ones(), 1 if last() else 0)


def differs_in_reduction():
    dist.all_reduce(ones(), dist.ReduceOp.MAX if last() else dist.ReduceOp.SUM)


def receives_in_a_circle():
    dist.recv(ones(), (dist.get_rank() + 1) % dist.get_world_size())


def waits_on_a_handle():
    handle = None if last() else dist.all_reduce(ones(), async_op=True)
    if last():
        time.sleep(60)
    handle.wait()


def subgroup_differs():
    group = dist.new_group([0, 1])
    rank = dist.get_rank()
    if rank == 0:
        dist.all_reduce(ones(), group=group)
    elif rank == 1:
        dist.broadcast(ones(), 1, group=group)


def launches_and_leaves():
    """Nobody hangs: rank 0 never waits on its handle. The group is out of step all the same."""
    if dist.get_rank() == 0:
        dist.all_reduce(ones(4), async_op=True)


def raises_and_dies():
    threading.Timer(0.3, os._exit, [7]).start()  # once it has told: that may take a busy machine a moment
    raise ValueError("boom")


def finishes_and_dies():
    if last():
        threading.Timer(0.2, os._exit, [7]).start()
    else:
        time.sleep(1)
