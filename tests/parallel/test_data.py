"""Data parallel on four ranks: equal to one process, every byte and call predicted, DDP beside it; and what goes wrong without weights."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
import warm
from lanes import some

from helpers.memory.payloads import assigned
from helpers.nccl import parse_flight_recorder
from helpers.parallel import MLP, Training, Transformer, data, difference, train
from helpers.parallel.data.bucketed import Overlap, bucket_bytes, in_buckets
from helpers.parallel.report import lines
from helpers.parallel.table import STRATEGIES

OURS = [name for name in STRATEGIES if name.startswith("data")]
TRAININGS = {
    "mlp": Training(),
    "transformer": Training(Transformer(), optimizer="adamw"),
    "float32": Training(Transformer(layers=1), dtype=torch.float32, steps=3),
    "bf16": Training(dtype=torch.bfloat16, optimizer="adamw"),
}


def every_line(names: list[str], training: Training) -> dict[str, list]:
    """Inside a rank: all strategies one after the other, in one call."""
    return {name: lines(STRATEGIES[name], training) for name in names}


@pytest.mark.parametrize("kind", some(TRAININGS, ["mlp"], "strategies on other models and in other types"))
def test_every_strategy_is_single_process_training_with_the_predicted_traffic_and_memory(ranks, kind):
    """Losses and parameters after the steps; on every rank, to the call and to the byte."""
    for name, found in ranks.run(every_line, OURS, TRAININGS[kind])[0].items():
        assert [one.rank for one in found] == [0, 1, 2, 3]
        assert [text for one in found for text in one.wrong] == [], name
        assert all(one.sent > 0 for one in found)


def test_all_ways_move_the_same_bytes_but_not_through_the_same_port(ranks):
    """2N(P-1)/P for every rank, whatever the calls; the parameter server has (P-1)N on one port, P/2 times as much."""
    n, p, steps = MLP().nparams * 8, 4, 5
    found = ranks.run(every_line, OURS, Training())[0]
    want = steps * 2 * n * (p - 1) / p
    for name in ("data, sum and divide", "data, avg", "data, bucketed", "data, overlapped"):
        assert {one.sent for one in found[name]} == {want}
    sent = [one.sent for one in found["data, parameter server"]]
    assert sent == [steps * n * (p - 1)] + [steps * n] * 3 and sent[0] == want * p / 2
    calls = [sum(found[f"data, {way}"][0].calls.values()) for way in ("avg", "bucketed")]
    assert calls == [4 * steps, 2 * steps]


PADDED = Training(Transformer(layers=1), padded=True, optimizer="sgd", steps=3)


def both_ways(training: Training):
    return data.naive.weighted(training), data.naive.averaged(training)


def test_where_ranks_have_unequal_tokens_only_weights_are_right(ranks):
    want = train(PADDED)
    for weighted, averaged in ranks.run(both_ways, PADDED):
        assert difference(weighted, want) < 1e-10
        assert difference(averaged, want) > 1e-3, "a mean of means counts a token of a short sample for more"


def overlap_order() -> list[str]:
    """Which came first: layers' gradients, or buckets sent."""
    model, seen = MLP(4, 4), []
    params = model.init()
    x, y = model.data(0, 0, 4)
    for name, p in params.items():
        p.register_post_accumulate_grad_hook(lambda _, name=name: seen.append(name))
    original = dist.all_reduce

    def noted(*args: object, **kwargs: object):
        seen.append("sent")
        return original(*args, **kwargs)

    dist.all_reduce = noted
    try:
        overlap = Overlap(params, first=1, rest=256)
        model.loss(model.forward(params, x), y).backward()
        overlap.finish()
    finally:
        dist.all_reduce = original
    return seen


def test_buckets_leave_while_backward_goes_on(ranks):
    """The last layer's gradient is a bucket of one, the next two layers fill the second, the first layer is what is left."""
    want = ["3.weight", "sent", "2.weight", "1.weight", "sent", "0.weight", "sent"]
    assert ranks.run(overlap_order) == [want] * 4


def test_a_bucket_is_full_when_it_holds_its_limit():
    assert assigned([1, 1, 1, 5, 1], first=1, rest=2) == [[0], [1, 2], [3], [4]]
    assert assigned([], 1, 2) == [] and assigned([9, 9], 1, 1) == [[0], [1]]
    training = Training(MLP(3, 4))
    params = training.params()
    names = {id(p): name for name, p in params.items()}
    buckets = [[names[id(p)] for p in bucket] for bucket in in_buckets(params, 1, 256)]
    assert buckets == [["2.weight"], ["1.weight", "0.weight"]]
    assert bucket_bytes(training, 1, 256) == [128, 256]


def half_a_backward() -> str:
    model = MLP(2, 4)
    params = model.init()
    overlap = Overlap(params, 1, 1)
    model.layer(1, params, model.data(0, 0, 4).x).sum().backward()
    with pytest.raises(RuntimeError) as error:
        overlap.finish()
    overlap.remove()
    return str(error.value)


def test_a_missing_gradient_is_told_before_anybody_waits(ranks):
    assert ranks.run(half_a_backward) == ["backward has left 1 parameters without a gradient"] * 4


def flights(training: Training) -> tuple[bytes, bytes, object]:
    """The flight recorder before and after DDP, and what was counted."""
    before = data.ddp.flight()
    trained = data.ddp.ddp(training, cap=1 << 20)
    return before, data.ddp.flight(), trained.moved


def test_the_flight_recorder_saw_ddps_calls_as_they_were_counted(ranks):
    """DDP's Reducer sends from C++; torch's recorder and our count are two witnesses that know nothing of each other.

    Buckets of 1 MiB and layers of 1.125 MiB: a bucket a layer from the second step on, and one for all in the first.
    """
    training = Training(MLP(4, 384), steps=3)
    answers = ranks.run(flights, training)
    old = parse_flight_recorder([before for before, _, _ in answers])
    new = parse_flight_recorder([after for _, after, _ in answers])
    for rank, (_, _, moved) in enumerate(answers):
        last = max((one.record for one in old.dumps[rank].operations), default=-1)
        reduced = [one for one in new.dumps[rank].operations if one.record > last and "reduce" in one.op]
        nbytes = [8 * sum(torch.Size(size).numel() for size in one.sizes) for one in reduced]
        layer = 384 * 384 * 8
        recorded = [n for n in nbytes if n >= layer]  # the losses' one all_reduce afterwards is smaller
        assert recorded == [call.given for call in moved.those("all_reduce")] == [4 * layer] + 2 * 4 * [layer]
        assert moved.by_op() == dict(data.ddp.predicted(training, 4, rank, cap=1 << 20).calls)


def test_a_batch_that_ranks_do_not_divide_is_refused_before_anything_starts():
    for name in OURS:
        with pytest.raises(ValueError, match="4 ranks do not divide batch 6: take batch 4 or 8, or 3 or 6 ranks"):
            STRATEGIES[name].predicted(Training(batch=6), 4, 0)


def test_two_ranks_under_torchrun_are_the_same_strategies():
    done = warm.run("-m", "helpers.parallel", "data", nranks=2, loaded=("torch._dynamo",))
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("data")]
    assert [row[: len(name)] for row, name in zip(rows, OURS, strict=True)] == OURS
    assert done.stdout.startswith("2 ranks, gloo")
