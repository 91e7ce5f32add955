"""What Gloo takes silently for something else is refused, or said, before the call; what is right passes."""

from __future__ import annotations

import warnings

import pytest
import torch
import torch.distributed as dist

from helpers.ranks import RankError
from helpers.ranks.hooks import unnoted
from helpers.ranks.hooks.guarding import REDUCED, UNHEEDED

# Of each call that takes the tensor x and ends at once, which argument x is.
CALLS = {
    ("all_reduce", "tensor"): lambda x: dist.all_reduce(x),
    ("reduce", "tensor"): lambda x: dist.reduce(x, 0),
    ("broadcast", "tensor"): lambda x: dist.broadcast(x, 0),
    ("scatter", "tensor"): lambda x: dist.scatter(x, parts(), 0),
    ("scatter", "scatter_list"): lambda x: dist.scatter(torch.ones(4), first([x, x]), 0),
    ("reduce_scatter", "output"): lambda x: dist.reduce_scatter(x, [torch.ones(4)] * 2),
    ("reduce_scatter", "input_list"): lambda x: dist.reduce_scatter(torch.ones(4), [x, x]),
    ("all_to_all_single", "output"): lambda x: dist.all_to_all_single(x, torch.ones(4)),
}
SOUND = {
    "all_gather": lambda x: dist.all_gather([x, x.clone()], x),
    "gather": lambda x: dist.gather(x, first([x.clone(), x.clone()])),
    "reduce_scatter_single": lambda x: dist.reduce_scatter_tensor(x, torch.ones(8)),
    "by channels": lambda x: dist.all_reduce(torch.ones(1, 2, 2, 2).to(memory_format=torch.channels_last)),
    "none": lambda x: dist.all_reduce(x[:0].contiguous(), op=dist.ReduceOp.MAX),
    "whole numbers": lambda x: dist.all_reduce(torch.ones(4, dtype=torch.int64), op=dist.ReduceOp.MIN),
}

SINGLE = [
    op for op in ("reduce_scatter_tensor", "reduce_scatter_single") if hasattr(dist, op)
]  # older releases lack the second


def first(of_rank_0):
    return of_rank_0 if dist.get_rank() == 0 else None


def parts():
    return first([torch.arange(4.0) for _ in range(dist.get_world_size())])


def test_what_gloo_misreads_is_refused_and_the_rest_passes(two):
    def refused():
        for call in SOUND.values():
            call(torch.arange(8.0)[::2])
        for (_, name), call in CALLS.items():
            if name == "scatter_list" and dist.get_rank():
                continue
            with pytest.raises(ValueError, match=r"on rank \d: shape \(4,\) with strides \(2,\)"):
                call(torch.arange(8.0)[::2])

    assert {(op, name) for op, names in UNHEEDED.items() for name in names} == set(CALLS)
    two.run(refused)


def test_the_error_names_call_and_rank_before_anything_is_sent(two):
    with pytest.raises(RankError, match=r"all_reduce on rank 1: .* give x\.contiguous\(\), and write the result back"):
        two.run(lambda: dist.get_rank() and dist.all_reduce(torch.arange(8.0)[::2]))


def test_gloo_really_misreads_them(two):
    """As of torch 2.13: the sum is of memory's first elements. Where this fails, the guard may go."""

    def summed():
        x = torch.arange(8.0)
        with unnoted():
            dist.all_reduce(x[::2])
        return x.tolist()

    assert two.run(summed)[0] == [0, 2, 4, 6, 4, 5, 6, 7]


def test_a_nan_under_a_maximum_is_said_by_the_rank_that_has_it(two):
    def said():
        x = torch.tensor([1.0, float("nan") if dist.get_rank() else 2.0])
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            dist.all_reduce(x.clone(), op=dist.ReduceOp.MAX)
            dist.reduce(x.clone(), 0, op=dist.ReduceOp.MAX)
            dist.reduce_scatter(torch.ones(2), [x, x], op=dist.ReduceOp.MIN)
            for op in SINGLE:
                getattr(dist, op)(torch.ones(1), x, op=dist.ReduceOp.MAX)
            dist.all_reduce(x.clone())
        return [str(one.message).partition(".")[0] for one in found if "NaN in" in str(one.message)]

    found = {"all_reduce": "1 of 2", "reduce": "1 of 2", "reduce_scatter": "2 of 4", **dict.fromkeys(SINGLE, "1 of 2")}
    assert {*found} == {op for op in REDUCED if hasattr(dist, op)}
    assert two.run(said) == [[], [f"{op} on rank 1: NaN in {share} elements" for op, share in found.items()]]
