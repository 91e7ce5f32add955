"""The ten primitives on real ranks: every number as on paper, every line of torch as the page shows it."""

from __future__ import annotations

import dataclasses
import warnings

import pytest
import torch.distributed as dist

from helpers.collectives import OPS, PRIMITIVES, find_primitive, outcome
from helpers.ranks import RankError, primitives
from helpers.ranks.primitives import TICK, example, perform, perform_all, text


@pytest.mark.parametrize("n", [2, 3, 4])
def test_every_primitive_does_what_the_paper_says_from_every_root(pools, n):
    for root in range(n):
        moved = pools[n].run(perform_all, root)
        for name, column in zip(PRIMITIVES, zip(*moved, strict=True), strict=True):
            wanted = outcome(name, example(name, n, root), root)
            assert [m.after for m in column] == wanted == [m.expected for m in column], name
            assert all(m.right for m in column) and [m.rank for m in column] == list(range(n))


@pytest.mark.parametrize("name", [name for name, made in PRIMITIVES.items() if made.reduces])
@pytest.mark.parametrize("op", OPS)
def test_ops_on_whole_and_on_other_numbers(pools, name, op):
    for values in ([[1, 2, 3], [4, 5, 6], [7, 8, 10]], [[0.5, 1, 2], [1, 0.25, 8], [3, 5, 7]]):
        moved = pools[3].run(perform, name, values, 0, op)
        wanted = outcome(name, values, 0, op)
        assert [m.after for m in moved] == [held and pytest.approx(held, rel=1e-6) for held in wanted]
        assert moved[0].line.endswith(f"op=dist.ReduceOp.{op.upper()})")


def test_own_values(two):
    moved = two.run(perform, "all_gather", [[1, 2, 3], [4, 5, 6]])
    assert [(m.before, m.after, m.nbytes) for m in moved] == [
        ([*b], [1, 2, 3, 4, 5, 6], 24) for b in ((1, 2, 3), (4, 5, 6))
    ]
    moved = two.run(perform, "all_to_all", [[1, 2, 3, 4], [5, 6, 7, 8]])
    assert [(m.after, m.nbytes) for m in moved] == [([1, 2, 5, 6], 16), ([3, 4, 7, 8], 16)]
    moved = two.run(perform, "broadcast", [None, [8, 9.5]], 1)
    assert [(m.before, m.after) for m in moved] == [([0, 0], [8, 9.5]), ([8, 9.5], [8, 9.5])]
    assert [m.before for m in two.run(perform, "scatter", [None, [8, 9]], 1)] == [None, [8, 9]]


def test_the_line_that_is_shown_is_the_line_that_runs(two):
    """A call written down with another root would do something else, and be seen."""

    def with_another_root():
        made = primitives.PRIMITIVES["broadcast"]
        primitives.find_primitive = lambda name: dataclasses.replace(made, call=made.call.replace("{root}", "{peer}"))
        try:
            moved = perform("broadcast")
            return moved.line, moved.after, moved.right
        finally:
            primitives.find_primitive = find_primitive

    assert two.run(with_another_root) == [("dist.broadcast(x, src=1)", [10, 11], False)] * 2
    assert [m.right for m in two.run(perform, "broadcast")] == [True, True]


def test_without_its_barrier_a_rank_leaves_too_early(two):
    def without():
        original, dist.barrier = dist.barrier, lambda: None
        try:
            return perform("barrier", [[0], [50]]).after
        finally:
            dist.barrier = original

    assert two.run(without) == [[0], [50]]
    assert two.run(perform, "barrier", [[0], [50]])[0].after == [50] and 50 * TICK < 2


def test_the_text_is_aligned_and_names_what_is_wrong(two):
    moved = two.run(perform, "reduce_scatter")
    assert primitives.block(moved).splitlines() == [
        "reduce_scatter dist.reduce_scatter_tensor(out, x, op=dist.ReduceOp.SUM)",
        "  FSDP sums a layer's gradients and leaves each rank the shard that it owns.",
        "  rank 0  [ 0  1]  ->  [10]",
        "  rank 1  [10 11]  ->  [12]",
        "  at least, with N = 8 B: every rank sends and receives N(P-1)/P = 4 B",
    ]
    spoilt = [moved[0]._replace(after=[11]), moved[1]._replace(after=None)]
    assert primitives.block(spoilt).splitlines()[2:4] == [
        "  rank 0  [ 0  1]  ->  [11]   WRONG: on paper [10]",
        "  rank 1  [10 11]  ->  -   WRONG: on paper [12]",
    ]


def test_all_ten_are_told_in_their_order(two):
    told = text(two.run(perform_all))
    assert [line.split()[0] for line in told.splitlines() if line and line[0] != " "] == list(PRIMITIVES)


def test_no_warning_reaches_the_reader(two, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        two.run(perform_all)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "args, said",
    [
        (("all_sum",), "unknown primitive 'all_sum': expected one of all_reduce"),
        (("all_reduce", [[1, 2]]), "wants one list of numbers per rank: these are 2 ranks, got 1 lists"),
        (("broadcast", [[1, 2], [3]]), r"equally many numbers on every rank, got \[\[1, 2\], \[3\]\]"),
        (("all_to_all", [[1, 2, 3], [4, 5, 6]]), "3 numbers cannot be split evenly"),
        (("reduce", None, 2), r"root must be a rank in 0\.\.1, got 2"),
        (("barrier", [[0], [101]]), r"0 to 100 ticks of 10 ms, got \[\[0\], \[101\]\]"),
        (("barrier", [[0, 1], [2, 3]]), "a barrier takes one arrival time per rank"),
    ],
)
def test_bad_values_are_refused_on_every_rank_before_anything_is_sent(two, args, said):
    with pytest.raises(RankError, match=said) as caught:
        two.run(perform, *args)
    assert caught.value.sound and len(caught.value.failures) == 2
