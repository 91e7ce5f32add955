"""Functions that the tests run on ranks. Without pytest, so that a rank imports it in no time."""

from __future__ import annotations

import torch
import torch.distributed as dist

from helpers.collectives import CATALOGUE, Schedule
from helpers.ranks import execute


def exact(shape: tuple[int, ...] | int, dtype: torch.dtype, seed: int) -> torch.Tensor:
    """Whole numbers so small that every partial sum is exact in every dtype: any order of additions gives the same bits."""
    return torch.randint(-8, 8, shape if isinstance(shape, tuple) else (shape,), generator=_generator(seed)).to(dtype)


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
    """The whole catalogue at every size that its collective allows, in floats and integers."""
    found = []
    for (collective, algorithm), build in CATALOGUE.items():
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
