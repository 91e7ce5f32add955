"""Functions that the tests run on ranks. Without pytest, so that a rank imports it in no time."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time

import torch
import torch.distributed as dist

from helpers.collectives import CATALOGUE, Schedule
from helpers.ranks import execute


def exact(shape: tuple[int, ...] | int, dtype: torch.dtype, seed: int) -> torch.Tensor:
    """Whole numbers so small that every partial sum is exact in every dtype: any order of additions gives the same bits."""
    return torch.randint(
        -8, 8, shape if isinstance(shape, tuple) else (shape,), generator=_generator(seed), device="cpu"
    ).to(torch.get_default_device(), dtype)


def _generator(seed: int) -> torch.Generator:
    return torch.Generator(device="cpu").manual_seed(1000 * seed + dist.get_rank())


def torch_result(collective: str, x: torch.Tensor, root: int | None) -> torch.Tensor | None:
    """What torch.distributed's own collective gives this rank."""
    nranks, rank = dist.get_world_size(), dist.get_rank()
    gathered = (x.shape[0] * nranks, *x.shape[1:])
    shared = (x.shape[0] // nranks, *x.shape[1:])
    match collective:
        case "all_reduce" | "reduce" | "broadcast":
            y = x.clone()
            getattr(dist, collective)(y, *([] if root is None else [root]))
            return y if collective != "reduce" or rank == root else None
        case "all_gather":
            y = x.new_empty(gathered)
            dist.all_gather_into_tensor(y, x)
        case "reduce_scatter":
            y = x.new_empty(shared)
            dist.reduce_scatter_tensor(y, x.clone())
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


def differences(cases: list[tuple], schedules: dict[str, Schedule] | None = None) -> list[str]:
    """Every case (schedule's text, shape, dtype name) in which execute and torch differ in a bit, a shape or a dtype."""
    wrong = []
    for number, (text, shape, dtype_name) in enumerate(cases):
        s, dtype = Schedule.parse(text), getattr(torch, dtype_name)
        if s.collective == "scatter" and dist.get_rank() != s.root:
            shape = (shape[0] // s.nranks, *shape[1:])
        x = exact(shape, dtype, number)
        kept = x.clone()
        got, want = execute(s, x), torch_result(s.collective, x, s.root)
        same = got is want is None or (got.dtype == want.dtype and torch.equal(got, want))
        if not same or not torch.equal(x, kept):
            wrong.append(f"{s.collective} {s.algorithm} {s.nranks} {shape} {dtype_name}: {got} is not {want}")
    return wrong


def cases(nranks: int) -> list[tuple]:
    """The whole catalogue at every size that its collective allows, in floats and integers; but for what needs a switch."""
    found = []
    for (collective, _), build in CATALOGUE.items():
        if build(nranks=2).nswitches:
            continue
        rooted = collective in ("broadcast", "reduce", "scatter", "gather")
        for root in {0, nranks - 1} if rooted else (None,):
            s = build(nranks=nranks, **({} if root is None else {"root": root}))
            for shape, dtype in _shapes(collective, nranks):
                found.append((str(s), shape, dtype))
    return found


def _shapes(collective: str, nranks: int) -> list[tuple]:
    sizes = [0, 1, nranks - 1, nranks, nranks + 1, 97, 4096]
    divided = collective in ("reduce_scatter", "scatter", "all_to_all")
    floats = [((n * nranks if divided else n,), "float32") for n in sizes]
    return [*floats, ((nranks * 3, 5), "int64"), ((nranks * 2, 2, 3), "float64"), ((nranks * 4,), "bfloat16")]


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
    threading.Timer(0.05, os._exit, [7]).start()
    raise ValueError("boom")


def finishes_and_dies():
    if last():
        threading.Timer(0.2, os._exit, [7]).start()
    else:
        time.sleep(1)
