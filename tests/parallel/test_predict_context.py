"""What is predicted for a rank that has some of the tokens, against four real ranks: the same bytes at every stage and at the peak."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

import pytest
import torch
from drawn import GPT, LLAMA, Case, batch_of, kept_by, predicted, same_within, sizes, step, watched
from lanes import some

from helpers.context import FORMS, ORDERS
from helpers.facts import MODELS, Model
from helpers.measure import predict_step
from helpers.measure.predict.predict import STAGES
from helpers.measure.sharding import Sharding, ShardingError, make_buckets
from helpers.measure.sharding.part import Part
from helpers.memory import sharding
from helpers.parallel.zero import Zero
from helpers.step import checkpointing
from helpers.step.precision import computes, optimizer

NRANKS = 4
WAYS = [("ring", "zigzag"), ("ring", "plain"), ("ring", "striped"), ("gathered", "zigzag"), ("heads", "plain")]


def draw(form: str, order: str, seed: int) -> Case:
    rng = random.Random(f"{form} {order} {seed}")
    kv_heads, llama = NRANKS if form == "heads" else rng.choice([1, 2, 3]), rng.random() < 0.6
    widths = sizes(rng)
    shape = Model(
        "drawn",
        layers=rng.randint(1, 2),
        heads=kv_heads * rng.randint(1, 2),
        kv_heads=kv_heads,
        head_dim=2 * rng.randint(2, 5),
        context=128,
        **(LLAMA if llama else GPT),
        tied=rng.random() < 0.3,
        **widths,
    )
    how = {
        "precision": rng.choice(["fp32", "bf16", "bf16-true"]),
        "checkpoint": rng.choice(["none", "selective", "full"]),
        "accumulate": rng.randint(1, 2),
    }
    plan = Sharding(context=NRANKS, place=rng.randrange(NRANKS), form=form, order=order, zero=rng.choice([0, 1, 3]))
    return Case(shape, rng.randint(1, 2), 2 * NRANKS * rng.randint(1, 9), plan, how)


def real(case: Case):
    """This rank, watched from its second step on. Attention is helpers.parallel.context's."""
    import torch.distributed as dist
    from torch.nn.attention import SDPBackend, sdpa_kernel

    from helpers.parallel.context import by_heads, gathered, ring

    def heads(plain, q, k, v):
        q, k, v = (by_heads.to_heads(x, group) for x in (q, k, v))
        return by_heads.to_tokens(plain(q, k, v), group)

    torch.set_num_threads(1)
    plan, precision, group = case.plan, case.how["precision"], dist.group.WORLD
    model = Part(case.shape, Sharding(), "math", case.how.get("dropout", 0.0), device="cpu", dtype=computes(precision))
    where = {"order": plan.order, "seq": case.seq, "group": group}
    for layer in model.layers:
        ways = {"ring": partial(ring.attended, **where), "gathered": partial(gathered.attended, **where)}
        layer.attention.core = ways.get(plan.form, partial(heads, layer.attention.core))
    checkpointing.apply(model, case.how["checkpoint"])
    trainer, buckets = made(model, plan, precision), [] if plan.zero else make_buckets(model)
    batch, inner = batch_of(case, NRANKS), trainer.optimizer if plan.zero else trainer

    def told(watch):
        kept_by(inner, trainer if plan.zero else None)(watch)
        watch.register(buckets, "communication")

    with sdpa_kernel(SDPBackend.MATH):
        return watched(model, inner, batch, told, partial(step, case, lambda: model(*batch), trainer))


def made(model, plan: Sharding, precision: str):
    """What steps: ZeRO among all ranks, or every rank's own optimizer."""
    if not plan.zero:
        return optimizer("adamw", model.parameters(), precision)
    return Zero(model, plan.zero, prefetch=True, optimizer=lambda shares: optimizer("adamw", shares, precision))


@pytest.mark.parametrize("seed", some(range(4), [0], "three more setups of each"))
@pytest.mark.parametrize("way", some(WAYS, WAYS[:1], "four more ways"), ids=" ".join)
def test_the_bytes_of_a_real_rank(ranks, way, seed):
    case = draw(*way, seed)
    same_within(case, ranks.run(real, case)[case.plan.place])


@pytest.mark.parametrize("seed", some(range(4), [1], "three more setups"))
def test_heads_drop_scores_as_one_rank_does(ranks, seed):
    case = draw("heads", "plain", seed)
    dropped = replace(case, how=case.how | {"dropout": 0.1})
    same_within(dropped, ranks.run(real, dropped)[case.plan.place])
    assert predicted(dropped).peak.nbytes > predicted(case).peak.nbytes


def test_the_names_are_those_of_the_room_that_knows_them():
    assert sharding.FORMS == FORMS and sharding.ORDERS == ORDERS


def after_forward(plan: Sharding, **how) -> int:
    """Bytes of activations on a rank of Llama-3-8B with two layers."""
    done = predict_step(replace(MODELS["Llama-3-8B"], layers=2), seq=4096, steps=1, sharding=plan, **how)
    return done.trace.at(STAGES[0])["activation"]


def test_a_ring_keeps_a_quarter_and_gathered_keys_stay():
    """As helpers.parallel.context has measured: others' blocks are there for a step and gone. Kernels keep as much as written scores."""
    ring = after_forward(Sharding(context=4))
    assert ring == pytest.approx(after_forward(Sharding()) / 4, rel=2e-3)
    assert ring == after_forward(Sharding(context=4), attention="math")
    of_others = 2 * 2 * 4096 * 3 // 4 * MODELS["Llama-3-8B"].kv_hidden * 2  # layers, keys and values, tokens, bf16
    assert after_forward(Sharding(context=4, form="gathered")) - ring > of_others


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        ({"context": 4, "place": 4}, "place is one of 0 to 3 of context=4, got 4"),
        ({"context": 2, "form": "star"}, "form is one of ring, gathered, heads, got 'star'"),
        ({"context": 2, "order": "random"}, "order is one of plain, zigzag, striped, got 'random'"),
        ({"context": 2, "data": 2, "expert": 2}, "expert=2 with context=2 is not written"),
    ],
)
def test_what_contradicts_itself_is_refused(ask, said):
    with pytest.raises(ShardingError, match=said):
        Sharding(**ask)


@pytest.mark.parametrize(
    ("plan", "how", "said"),
    [
        (Sharding(context=4), {"seq": 20}, "zigzag cuts a sequence into 8 chunks for 4 context ranks, and seq 20"),
        (Sharding(context=16, form="heads"), {"seq": 64}, "context=16 ranks of tensor=1 cannot share kv_heads=8"),
        (Sharding(context=2), {"seq": 64, "dropout": 0.1}, "is written with form='heads' only, got form='ring'"),
    ],
)
def test_what_ranks_cannot_share_is_refused(plan, how, said):
    with pytest.raises(ShardingError, match=said):
        predict_step("Llama-3-8B", sharding=plan, **how)
