"""A schedule played on real ranks gives, bit for bit, what torch's own collective gives."""

from __future__ import annotations

import labs
import pytest
import torch
import torch.distributed as dist

from helpers.collectives import CATALOGUE, Schedule, ScheduleError, Transfer
from helpers.ranks import RankError, execute


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_whole_catalogue_equals_torch_bit_for_bit(pools, n):
    cases = labs.cases(n)
    assert len(cases) >= 10 * len(CATALOGUE)
    assert pools[n].run(labs.differences, cases) == [[]] * n


def test_a_wrong_result_would_be_seen(pools):
    """The comparison itself can fail: a broadcast from the wrong root is reported by every other rank."""
    wrong = str(CATALOGUE["broadcast", "flat"](nranks=2, root=1))

    def compare():
        original = labs.torch_result
        labs.torch_result = lambda collective, x, root: original(collective, x, 0)
        try:
            return len(labs.differences([(wrong, (97,), "float32")]))
        finally:
            labs.torch_result = original

    assert pools[2].run(compare) == [1, 1]


def test_both_ring_conventions_reduce_to_the_same_bits(pools):
    rings = [CATALOGUE["all_reduce", "ring"](nranks=4, first=first) for first in (0, 1)]
    cases = [(str(s), (n,), "float32") for s in rings for n in (1, 5, 4096)]
    assert rings[0] != rings[1] and pools[4].run(labs.differences, cases) == [[]] * 4


@pytest.mark.parametrize("nchunks", [1, 3, 8])
def test_pipelined_broadcasts(pools, nchunks):
    s = CATALOGUE["broadcast", "ring"](nranks=4, root=2, nchunks=nchunks)
    assert pools[4].run(labs.differences, [(str(s), (n,), "int64") for n in (0, 1, 2, 97)]) == [[]] * 4


def test_several_chunks_per_rank_and_swaps_within_a_step(pools):
    """Both ranks send chunk by chunk, two chunks to a message, and a slot is read and overwritten in the same step."""
    swap = "all_to_all swap nranks=2 nchunks=4 root=-\n1:0→1 2:1→0"
    gather = "all_gather pairs nranks=2 nchunks=4 root=-\n0:0→1 1:0→1 2:1→0 3:1→0"
    added = "all_reduce exchange nranks=2 nchunks=3 root=-\n0:0⇒1 0:1⇒0 1:0⇒1 1:1⇒0 2:0⇒1 2:1⇒0"
    cases = [(text, (n,), "float32") for text in (swap, gather, added) for n in (0, 2, 4, 6, 98)]
    assert pools[2].run(labs.differences, cases) == [[]] * 2


def test_out_is_written_in_place(pools):
    s = CATALOGUE["all_reduce", "ring"](nranks=2)
    gather, scatter = (CATALOGUE[name, "ring"](nranks=2) for name in ("all_gather", "reduce_scatter"))

    def f():
        x = torch.arange(6.0)
        y, z, w = torch.empty(6), torch.empty(2, 6), torch.empty(3)
        same = [execute(s, x, out=y) is y, execute(gather, x, out=z) is z, execute(scatter, x, out=w) is w]
        untouched = torch.equal(x, torch.arange(6.0))
        execute(s, x, out=x)
        strided = torch.zeros(6, 2)[:, 0]
        execute(s, torch.arange(6.0), out=strided)
        return same, untouched, y.tolist(), z.tolist(), w.tolist(), x.tolist(), strided.tolist(), dist.get_rank()

    double = [2.0 * i for i in range(6)]
    for same, untouched, y, z, w, x, strided, rank in pools[2].run(f):
        assert same == [True] * 3 and untouched and y == x == strided == double
        assert z == [[float(i) for i in range(6)]] * 2 and w == double[3 * rank : 3 * rank + 3]


def test_reduce_leaves_out_alone_off_the_root(pools):
    s = CATALOGUE["reduce", "flat"](nranks=2, root=0)

    def f():
        y = torch.full((3,), -1.0)
        return execute(s, torch.ones(3), out=y) is y, y.tolist()

    assert pools[2].run(f) == [(True, [2.0] * 3), (False, [-1.0] * 3)]


def test_non_contiguous_input_and_scalars(pools):
    s, gather = CATALOGUE["all_reduce", "ring"](nranks=2), CATALOGUE["all_gather", "ring"](nranks=2)

    def f():
        x = torch.arange(6.0).view(2, 3).T
        return execute(s, x).tolist(), execute(gather, torch.tensor(7.0)).tolist()

    assert pools[2].run(f) == [([[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]], [7.0, 7.0])] * 2


def test_a_schedule_that_does_not_keep_its_promise_is_never_played(pools):
    ring = CATALOGUE["all_reduce", "ring"](nranks=2)
    broken = Schedule(ring.collective, ring.algorithm, 2, ring.nchunks, ring.steps[:-1])
    with pytest.raises(RankError, match="ranks 0, 1 raised ScheduleError") as caught:
        pools[2].run(execute, broken, torch.ones(4))
    assert isinstance(caught.value.root.exception, ScheduleError) and caught.value.sound


@pytest.mark.parametrize(
    "s, tensor, said",
    [
        (CATALOGUE["all_reduce", "ring"](nranks=3), torch.ones(4), "is for 3 ranks, these are 2"),
        (CATALOGUE["reduce_scatter", "ring"](nranks=2), torch.ones(5), "5 elements do not divide by 2 ranks"),
        (CATALOGUE["all_to_all", "flat"](nranks=2), torch.ones(3), "3 elements do not divide by 2 ranks"),
        (CATALOGUE["all_reduce", "ring"](nranks=2), [1, 2], r"plays all_reduce on a tensor, got \[1, 2\]"),
        (Schedule(None, None, 2, 1, ((Transfer(0, 1, 0),),)), torch.ones(4), "ScheduleError"),
    ],
)
def test_bad_input_is_refused_before_anything_is_sent(pools, s, tensor, said):
    with pytest.raises(RankError, match=said) as caught:
        pools[2].run(execute, s, tensor)
    assert caught.value.sound, "no message is under way"


def test_a_misfitting_out_is_refused_before_anything_is_sent(pools):
    s = CATALOGUE["all_gather", "ring"](nranks=2)
    with pytest.raises(
        RankError, match=r"all_gather gives 8 elements of torch.float32, out has 7 of torch.float32"
    ) as caught:
        pools[2].run(lambda: execute(s, torch.ones(4), out=torch.ones(7)))
    assert caught.value.sound


def test_a_schedule_with_a_switch_is_refused(pools):
    s = Schedule.parse("all_reduce switch nranks=2 nchunks=1 root=- nswitches=1\n0:0⇒2 0:1⇒2\n0:2→0 0:2→1")
    with pytest.raises(RankError, match=r"has 1 switches, which torch.distributed cannot address"):
        pools[2].run(execute, s, torch.ones(4))


def test_execute_is_refused_outside_ranks():
    with pytest.raises(ScheduleError, match=r"call it in a function given to Ranks.run"):
        execute(CATALOGUE["all_reduce", "ring"](nranks=2), torch.ones(4))
