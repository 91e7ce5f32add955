"""Pipelines on real ranks: equal to one process, their bytes and memory those of the formulas, torch's own beside them."""

import pytest
import torch
import torch.distributed as dist
from counting_flops import _CPU_BACKWARD as SCORES_BACKWARD
from lanes import some
from torch.utils.flop_counter import FlopCounterMode

from helpers.parallel import MLP, Training, Transformer, difference, train
from helpers.parallel.pipeline import meshed, ours, torchs
from helpers.parallel.pipeline.deferred import deferring
from helpers.parallel.pipeline.ours import Pipeline
from helpers.parallel.pipeline.stage import Stage
from helpers.pipeline import SCHEDULES, PipelineSchedule, dry_run, most_waiting
from helpers.pipeline.orders import with_shards
from helpers.pipeline.schedule import SHARDS
from helpers.ranks import Ranks

DEEP = Training(MLP(layers=8), batch=8, optimizer="adamw")
TOKENS = Training(Transformer(layers=6), batch=8, padded=True)


def model(training) -> str:
    return type(training.model).__name__


@pytest.fixture(scope="module")
def four():
    with Ranks(4, backend="gloo", timeout=120) as ranks:
        yield ranks


def sound(results, training, how, nranks=4) -> None:
    """Equal to one process, and every number the formula's, on every rank."""
    want = train(training)
    for rank, got in enumerate(results):
        paper = ours.predicted(training, nranks, rank % nranks, how)
        assert difference(got, want) <= training.tolerance
        assert got.moved.by_op() == paper.calls
        assert got.moved.sent() == paper.total
        assert got.held == paper.held


@pytest.mark.parametrize("training", some([DEEP, TOKENS], [TOKENS], "pipelines of the MLP"), ids=model)
@pytest.mark.parametrize("schedule", some(SCHEDULES, ["1f1b", "interleaved"], "more schedules of pipelines"))
def test_it_trains_as_one_process_does(four, schedule, training):
    how = Pipeline(schedule)
    sound(four.run(ours.train, training, how), training, how)


@pytest.mark.parametrize("training", some([DEEP, TOKENS], [TOKENS], "torch's pipelines of the MLP"), ids=model)
@pytest.mark.parametrize("schedule", some(SCHEDULES, ["zb-h1"], "torch's pipelines by every schedule"))
def test_torchs_own_has_the_same_numbers(four, schedule, training):
    how = Pipeline(schedule)
    sound(four.run(torchs.train, training, how), training, how)


@pytest.mark.parametrize("dtype", some([torch.float32, torch.bfloat16], [torch.bfloat16], "other types"), ids=str)
def test_in_other_types_it_stays_within_their_tolerance(four, dtype):
    for schedule in ("1f1b", "zb-h1"):
        how = Pipeline(schedule, nmicrobatches=4)
        sound(four.run(ours.train, DEEP.but(dtype=dtype), how), DEEP.but(dtype=dtype), how)


def in_pairs(training, how):
    """Ranks 0 and 1 are one pipeline, 2 and 3 another."""
    pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    return ours.train(training, how, pairs[dist.get_rank() // 2])


@pytest.mark.matrix("pipelines side by side, each in a group of its own")
def test_two_ranks_and_a_group(four):
    """3 stages a rank, uneven layers, and a message between the same two ranks in both roles: forward of one stage, backward of another."""
    training, how = TOKENS.but(optimizer="adamw"), Pipeline("interleaved", nmicrobatches=4, nvirtual=3)
    sound(four.run(in_pairs, training, how), training, how, nranks=2)


@pytest.mark.matrix("pipelines side by side, each in a group of its own")
def test_pipelines_side_by_side_are_one_training(four):
    """2 x 2 ranks: half the batch in each pipeline, unequally many tokens, and one all_reduce of every gradient."""
    how = Pipeline("zb-h1", nmicrobatches=4)
    want = train(TOKENS)
    for rank, got in enumerate(four.run(meshed.train, TOKENS, how)):
        paper = meshed.predicted(TOKENS, 4, rank, how)
        assert difference(got, want) <= TOKENS.tolerance
        assert (got.moved.by_op(), got.moved.sent(), got.held) == (paper.calls, paper.total, paper.held)
        assert got.moved.ncalls("all_reduce", (rank % 2, rank % 2 + 2)) == paper.calls["all_reduce"] > 0


def order_in_torch(name, p, m, v):
    """Inside a rank: what its class of torch's computes, rank by rank, as text; built without a group of p ranks."""
    from torch.distributed.pipelining import schedules

    kind = getattr(schedules, SCHEDULES[name].torch)
    made = object.__new__(kind)
    made._num_stages, made._n_microbatches, made.n_local_stages, made.pp_group_size = p, m, v, p
    made.microbatches_per_round = m // max(1, m // p)
    if issubclass(kind, schedules.PipelineScheduleSingle):
        programs = made._get_pipeline_order().values()
    else:
        programs = [made._calculate_single_rank_operations(rank) for rank in range(p)]
    return [" ".join(str(a) for a in program if a is not None and a.is_compute_op) for program in programs]


def orders_in_torch(cases):
    return [order_in_torch(*case) for case in cases] if dist.get_rank() == 0 else None


def shards_in_torch(cases):
    """Inside a rank: of each program's computations what torch's passes make of it, as text: gathered and freed, and reduced."""
    from torch.distributed.pipelining.schedules import _Action, _add_reduce_grad, _add_unshard_reshard

    if dist.get_rank():
        return None
    read = [([_Action.from_str(word) for word in program.split()], m) for program, m in cases]
    passes = ((_add_unshard_reshard([*one]), _add_reduce_grad([*one], m)) for one, m in read)
    waits = "WAIT_REDUCE_GRAD"  # from torch 2.15 on behind each reduction, at once
    return [tuple(" ".join(one for one in map(str, found) if waits not in one) for found in both) for both in passes]


def test_a_stage_is_gathered_freed_and_reduced_where_torch_does_it(four):
    sizes = [(p, m, v) for p in (1, 2, 4) for m in (p, 4 * p) for v in (2, 3, 4, 5)]
    made = [SCHEDULES["interleaved"](*size) for size in sizes] + [SCHEDULES[name](4, 8) for name in ("1f1b", "zb-h1")]
    told = [(s, with_shards(s, ahead=3)) for s in made]
    found = four.run(shards_in_torch, [(" ".join(map(str, c)), s.nmicrobatches) for s, _ in told for c in s.computed])[
        0
    ]
    ours_own = [
        tuple(" ".join(str(a) for a in program if a.computes or a.kind in kinds) for kinds in (SHARDS[:2], SHARDS[2:]))
        for _, whole in told
        for program in whole.programs
    ]
    assert ours_own == found
    for _, whole in told:
        dry_run(whole)
        assert PipelineSchedule.parse(str(whole)) == whole


def test_the_order_is_torchs(four):
    """But for the last rank of Schedule1F1B, whose drawing in torch 2.13 counts microbatches from 1; it runs them from 0."""
    cases = [
        (name, p, m, 2 if b.interleaves else 1) for name, b in SCHEDULES.items() for p in (2, 4, 8) for m in (p, 4 * p)
    ]
    found = four.run(orders_in_torch, cases)[0]
    for (name, p, m, v), torchs_own in zip(cases, found, strict=True):
        ours_own = [" ".join(map(str, program)) for program in SCHEDULES[name](p, m, v).computed]
        known = p - 1 if name == "1f1b" else p
        assert ours_own[:known] == torchs_own[:known], (name, p, m)


def most_held(training, how):
    """Inside a rank: for each stage how many microbatches ever held activations, as run and not as planned."""
    schedule = how.made(training, dist.get_world_size())
    stages = ours.stages_of(training, schedule, dist.get_rank())
    for stage in stages.values():
        stage.load(*ours.microbatches_of(training, 0, how.nmicrobatches))
    ours.Runner(schedule, stages).step()
    return [stage.most for stage in stages.values()]


def test_as_many_microbatches_wait_as_the_formula_says(four):
    for name in ("gpipe", "1f1b", "zb-h1"):
        s = SCHEDULES[name](4, 8)
        assert four.run(most_held, DEEP, Pipeline(name)) == [[most_waiting(s, rank)] for rank in range(4)]


def test_what_waits_is_memory(four):
    """Rank 0 of 1F1B holds half of GPipe's 8 microbatches: of each, what 2 layers keep, in and out of their matrices."""
    training = Training(MLP(layers=8), batch=512)
    peaks = {name: four.run(ours.train, training, Pipeline(name))[0].peak for name in ("gpipe", "1f1b")}
    one = 512 // 8 * 16 * training.itemsize  # a tensor between layers, of one microbatch
    kept = 3 * one  # in front of each GELU and behind the first; x itself is the batch, which is there anyway
    assert peaks["gpipe"] - peaks["1f1b"] == pytest.approx(4 * kept, abs=one)


# backward in two parts ------------------------------------------------------------------------------------------------------
def test_a_backward_in_two_parts_is_the_whole_one_and_no_more_work():
    training = TOKENS.but(batch=2)
    batch, flops, grads = training.data(0), {}, {}
    for splits in (False, True):
        stage = Stage(training.model, range(training.model.depth), training.params(), splits)
        stage.load([batch], training.model.terms(batch.y))
        stage.forward(0, None)
        with FlopCounterMode(display=False) as counter:
            stage.backward(0, None)
        if splits:
            waits = {n for n, p in stage.params.items() if p.grad is None}
            assert waits == {n for n, p in stage.params.items() if p.dim() == 2 and not n.startswith("0.")}
            first = counter.get_total_flops()
            with FlopCounterMode(display=False) as counter:
                stage.weight_gradient(0)
            flops[splits] = first, counter.get_total_flops()
        else:
            flops[splits] = counter.get_total_flops()
            scores = counter.get_flop_counts()["Global"].get(
                SCORES_BACKWARD, 0
            )  # counted from torch 2.15 on, and no weight's
        grads[splits] = {n: p.grad for n, p in stage.params.items()}
    assert sum(flops[True]) == flops[False] == 2 * flops[True][1] + scores, (
        "of each weight's two matmuls one; nothing is done twice"
    )
    for name, grad in grads[False].items():
        torch.testing.assert_close(grads[True][name], grad, rtol=0, atol=1e-12)


def test_only_a_linear_of_a_leaf_is_deferred():
    left = []
    x, weight = torch.ones(2, 3), torch.ones(4, 3, requires_grad=True)
    with deferring(left):
        torch.nn.functional.linear(x, weight * 2).sum().backward()
        torch.nn.functional.linear(x, weight, torch.ones(4)).sum().backward()
        assert left == [] and weight.grad is not None
        torch.nn.functional.linear(x, weight).sum().backward()
    (one,) = left
    assert one.weight is weight and torch.equal(one.dy, torch.ones(2, 4))


# bad input ------------------------------------------------------------------------------------------------------------------
def test_a_mesh_that_does_not_fit_is_named():
    with pytest.raises(ValueError, match="3 pipelines do not divide ranks 4: take ranks 3 or 6, or 2 or 4 pipelines"):
        meshed.predicted(DEEP, 4, ndata=3)
    with pytest.raises(ValueError, match="2 pipelines do not divide batch 7"):
        meshed.predicted(DEEP.but(batch=7), 4)
    with pytest.raises(ValueError, match="8 microbatches are more than the 4 samples"):
        meshed.predicted(DEEP, 4, 0, Pipeline(nmicrobatches=8))


@pytest.mark.parametrize(
    ("training", "how", "says"),
    [
        (DEEP, Pipeline("dualpipe"), "schedule is one of gpipe, 1f1b, interleaved, zb-h1, got 'dualpipe'"),
        (
            DEEP,
            Pipeline(nmicrobatches=16),
            "16 microbatches are more than the 8 samples of the batch: take at most 8 .*",
        ),
        (
            DEEP.but(batch=12),
            Pipeline(nmicrobatches=8),
            "8 microbatches do not divide a batch of 12: take 6 or 12 microbatches, or a batch of 8 or 16",
        ),
        (DEEP, Pipeline(nmicrobatches=0), "nmicrobatches is a whole number from 1 on, got 0"),
        (DEEP, Pipeline("interleaved", 2), "wants a multiple of 4 ranks as microbatches, got 2: take 4"),
        (
            DEEP,
            Pipeline("interleaved", 8, 3),
            "12 stages of 8 layers leave a stage without layers: take at most 8 stages",
        ),
        (Training(MLP(layers=3)), Pipeline(), "4 stages of 3 layers leave a stage without layers"),
        (DEEP, Pipeline("gpipe", 8, 2), "gpipe has one stage per rank, got nvirtual=2"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_launched(training, how, says):
    with pytest.raises(ValueError, match=says):
        ours.predicted(training, 4, 0, how)
