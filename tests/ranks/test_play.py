"""A schedule played on real ranks gives, bit for bit, what torch's own collective gives."""

from __future__ import annotations

import labs
import pytest
import torch
import torch.distributed as dist
from lanes import some

from helpers.collectives import CATALOGUE, Schedule, ScheduleError, Transfer
from helpers.ranks import RankError, Ranks, execute
from helpers.ranks.play.buffers import Buffers

SIZES = (97, 4096, 100_003)


@pytest.mark.parametrize("thin", some([True, False], [True], "every way at every shape"))
@pytest.mark.parametrize("n", some([2, 3, 4], [3], "every schedule on another number of ranks"))
def test_the_whole_catalogue_equals_torch_bit_for_bit_to_a_new_tensor_to_another_and_in_place(pools, n, thin):
    cases = labs.cases(n, sizes=SIZES[: 2 if thin and n < 4 else 3], thin=thin)
    assert len({(case.text, way) for case in cases for way in case.ways}) == 3 * len({case.text for case in cases})
    assert {(s.collective, s.algorithm) for s in map(Schedule.parse, {case.text for case in cases})} == set(CATALOGUE)
    assert pools[n].run(labs.differences, cases) == [[]] * n


TYPED = some([(3, True), (2, True), (4, True), (3, False)], [(3, True)], "every schedule in every type and reduction")


@pytest.mark.parametrize("how", TYPED, ids=str)
def test_every_dtype_and_reduction_that_torch_has(pools, how):
    n, thin = how
    cases = labs.typed(n, thin)
    assert {(case.op, case.dtype) for case in cases} == {(op, dtype) for op in labs.DTYPES for dtype in labs.DTYPES[op]}
    assert pools[n].run(labs.differences, cases) == [[]] * n


@pytest.mark.matrix("every schedule on eight ranks")
@pytest.mark.parametrize("way", some([0, 1, 2], [0], "every way at every shape"))
@pytest.mark.parametrize("n", some([5, 8], [8], "every schedule on another number of ranks"))
def test_more_ranks(n, way):
    """Of the ways, each schedule takes its own."""
    with Ranks(n, backend="gloo", timeout=10.0) as ranks:
        ways = [labs.WAYS[(n + i + way) % 3] for i in range(len(labs.schedules(n)))]
        cases = [labs.Case(str(s), (n * 13,), ways=(own,)) for s, own in zip(labs.schedules(n), ways, strict=True)]
        assert ranks.run(labs.differences, cases) == [[]] * n


def test_builders_in_other_sizes_than_they_choose_themselves(pools):
    """Switches above switches, slices, nodes of two: the largest catalogue of moves within a rank that four ranks have."""
    sharp = [CATALOGUE["all_reduce", "sharp"](nranks=4, radix=2, nchunks=k) for k in (1, 3)]
    sliced = [CATALOGUE[name, "nvls"](nranks=4, slices=3) for name in ("all_reduce", "reduce_scatter", "all_gather")]
    nodes = [CATALOGUE["all_reduce", "hierarchical"](nranks=4, gpus=gpus) for gpus in (1, 2, 4)]
    assert {s.nswitches for s in sharp} == {3}
    cases = [
        labs.Case(str(s), (n,), op=op) for s in (*sharp, *sliced, *nodes) for n in (0, 4, 100) for op in ("sum", "max")
    ]
    cases = [case for case in cases if case.op == "sum" or not case.text.startswith("all_gather")]
    assert pools[4].run(labs.differences, cases) == [[]] * 4


def test_a_wrong_result_would_be_seen(pools):
    """The comparison itself can fail: a broadcast from the wrong root is reported by every other rank."""
    wrong = str(CATALOGUE["broadcast", "flat"](nranks=2, root=1))

    def compare():
        original = labs.torch_result
        labs.torch_result = lambda collective, x, root, op: original(collective, x, 0)
        try:
            return len(labs.differences([(wrong, (97,))]))
        finally:
            labs.torch_result = original

    assert pools[2].run(compare) == [3, 3], "to a new tensor, to another, in place"


@pytest.mark.parametrize("numel", [0, 1, 5, 8, 97])
def test_chunks_are_cut_as_tensor_split_cuts(numel):
    whole, part = torch.arange(float(numel)), torch.arange(4.0 * numel)
    ring, scatter = CATALOGUE["all_reduce", "ring"](nranks=8), CATALOGUE["reduce_scatter", "bidirectional"](nranks=4)
    slots = Buffers(ring, 3, whole, None).slots[3]
    assert [slot.tolist() for slot in slots] == [piece.tolist() for piece in torch.tensor_split(whole, ring.nchunks)]
    pieces = [p for mine in part.chunk(4) for p in torch.tensor_split(mine, scatter.nchunks // 4)] if numel else []
    assert scatter.nchunks == 8
    assert [slot.tolist() for slot in Buffers(scatter, 3, part, None).slots[3]][: len(pieces)] == [
        p.tolist() for p in pieces
    ]


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


@pytest.mark.parametrize(
    "key, dtype, op, said",
    [
        (("all_reduce", "ring"), "float32", "median", "op is one of sum, prod, .*, got 'median'"),
        (("all_reduce", "ring"), "float32", "bxor", "bxor is for int8, .*, got torch.float32"),
        (("reduce_scatter", "ring"), "int16", "sum", "sum is for float32, .*, got torch.int16"),
        (("all_reduce", "ring"), "complex64", "max", "max is for float32, .*, got torch.complex64"),
        (("all_reduce", "ring"), "bool", "avg", "avg is for float32, .*, got torch.bool"),
        (("all_gather", "ring"), "float32", "max", "all_gather reduces nothing: leave op out, got 'max'"),
    ],
)
def test_a_reduction_that_does_not_exist_is_refused_before_anything_is_sent(pools, key, dtype, op, said):
    s = CATALOGUE[key](nranks=2)
    with pytest.raises(RankError, match=said) as caught:
        pools[2].run(lambda: execute(s, torch.ones(4).to(getattr(torch, dtype)), op=op))
    assert isinstance(caught.value.root.exception, ScheduleError) and caught.value.sound


def test_integers_are_averaged_towards_zero_as_nccl_does(pools):
    """Gloo has no such thing: what is right here is not asked of torch."""
    s = CATALOGUE["all_reduce", "ring"](nranks=2)
    mine = [[7, -7, 4, 0], [0, 0, -4, 1]]
    assert (
        pools[2].run(lambda: execute(s, torch.tensor(mine[dist.get_rank()]), op="avg").tolist()) == [[3, -3, 0, 0]] * 2
    )


def test_what_is_put_down_first_in_a_switch_is_not_added_to_anything(pools):
    """A product that began with an empty register, 0 or what was left in memory, would not be 6; nor the minimum 2."""
    for algorithm in ("nvls", "sharp", "one-shot"):
        s = CATALOGUE["all_reduce", algorithm](nranks=2)

        def f(s=s):
            x = torch.full((5,), 2.0 + dist.get_rank())
            return [execute(s, x, op=op).tolist() for op in ("prod", "min")]

        assert pools[2].run(f) == [[[6.0] * 5, [2.0] * 5]] * 2, algorithm


def test_a_switch_may_be_used_again(pools):
    """Ranks add, the switch tells; then one stores into it, and it tells that: the second overwrites."""
    s = Schedule.parse(
        "all_reduce twice nranks=3 nchunks=2 root=- nswitches=1\n"
        "0:0⇒3 0:1⇒3 0:2⇒3 1:0⇒3\n1:1⇒3 0:3→0\n1:2⇒3 0:3→1 0:3→2\n1:3→2\n1:2→3\n1:3→0 1:3→1"
    )
    cases = [labs.Case(str(s), (n,), op=op) for n in (0, 2, 5, 301) for op in ("sum", "prod", "max")]
    assert pools[3].run(labs.differences, cases) == [[]] * 3


@pytest.mark.parametrize(
    "nranks, nswitches, steps",
    [
        (2, 1, "0:1→2\n0:0→2 0:2→0\n0:2⇒1 0:2⇒0"),  # rank 0 hosts the switch: two moves change places
        (2, 1, "0:0→2\n0:1→0\n0:1→2 0:2→0\n0:2⇒0\n0:0→1"),  # a message arrives where a move reads
        (3, 0, "0:0→1 0:1→0\n0:2⇒0\n0:1⇒0\n0:0→1 0:0→2"),  # two ranks change places
    ],
)
def test_a_slot_that_is_read_and_overwritten_in_one_step_is_read_first(pools, nranks, nswitches, steps):
    s = Schedule.parse(f"all_reduce swaps nranks={nranks} nchunks=1 root=- nswitches={nswitches}\n{steps}")
    cases = [labs.Case(str(s), (n,)) for n in (1, 9, 2**21)]
    assert pools[nranks].run(labs.differences, cases) == [[]] * nranks


def test_the_same_inputs_give_the_same_bits_and_another_algorithm_others(pools):
    """Random floats: their sum depends on the order of additions, which is the algorithm's own."""
    by_name = {name: build(nranks=4) for (collective, name), build in CATALOGUE.items() if collective == "all_reduce"}

    def bits():
        x = torch.randn(1000, generator=torch.Generator().manual_seed(dist.get_rank()))
        return {name: execute(s, x).view(torch.int32).tolist() for name, s in by_name.items()}

    first, *again = (pools[4].run(bits) for _ in range(4))
    assert all(run == first for run in again)
    for rank in range(4):
        assert first[rank]["ring"] != first[rank]["binomial"] and first[rank]["ring"] != first[rank]["nvls"]


def test_bf16_loses_what_fp32_keeps(pools):
    """The same schedule in both: bf16 rounds after every addition, to 8 bits."""
    s = CATALOGUE["all_reduce", "ring"](nranks=4)

    def errors():
        x = torch.randn(10_000, generator=torch.Generator().manual_seed(dist.get_rank()))
        exactly = execute(s, x.double())
        return [(execute(s, x.to(d)).double() - exactly).abs().mean().item() for d in (torch.bfloat16, torch.float32)]

    for coarse, fine in pools[4].run(errors):
        assert 1e-3 < coarse < 1e-2 and fine < 1e-6


def test_execute_is_refused_outside_ranks():
    with pytest.raises(ScheduleError, match=r"call it in a function given to Ranks.run"):
        execute(CATALOGUE["all_reduce", "ring"](nranks=2), torch.ones(4))
