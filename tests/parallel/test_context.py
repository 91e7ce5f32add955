"""Context parallel on real Gloo ranks: each form equals single-process training, its traffic, its work and its memory the formula."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from lanes import some

from helpers.context import layer_passes, work
from helpers.parallel import context
from helpers.parallel.context import activations, blocks, cut_model
from helpers.parallel.context.ours import sizes
from helpers.parallel.counting import counted
from helpers.parallel.model import MLP, Transformer
from helpers.parallel.reference import Training, difference, train
from helpers.ranks import Ranks

LONG = Transformer(seq=16)  # two tokens in each of eight chunks


def trained(strategy, training):
    torch.set_num_threads(1)
    return strategy.train(training)


@pytest.fixture(scope="module", params=some([1, 2, 4], [4], "fewer ranks"))
def team(request):
    if request.param == 4:
        yield request.getfixturevalue("ranks")
        return
    with Ranks(request.param, backend="gloo", timeout=60) as ranks:
        yield ranks


@pytest.mark.parametrize(
    "strategy",
    some(
        context.STRATEGIES,
        [one for one in context.STRATEGIES if one.name in ("context, ring in zigzag", "context, all_to_all")],
        "more ways to share out a sequence",
    ),
    ids=lambda one: one.name,
)
def test_it_equals_a_single_process_and_the_formulas(team, strategy):
    training, nranks = strategy.training.but(batch=2, padded=True), team.world.nranks
    want = train(training)
    for rank, got in enumerate(team.run(trained, strategy, training)):
        paper = strategy.predicted(training, nranks, rank)
        assert difference(got, want) <= 1e-10
        assert got.moved.by_op() == {op: n for op, n in paper.calls.items() if n}
        assert {op: got.moved.sent(op) for op in paper.sent} == dict(paper.sent)
        assert got.held == dict(paper.held)


@pytest.mark.matrix("other shapes of heads")
@pytest.mark.parametrize("strategy", context.STRATEGIES, ids=lambda one: one.name)
@pytest.mark.parametrize(
    "model", [Transformer(seq=24 * 4, kv_heads=4), Transformer(layers=1, heads=8, kv_heads=8, seq=32, width=32)]
)
def test_other_models(team, strategy, model):
    training = Training(model, batch=1, steps=2, optimizer="adamw")
    for got in team.run(trained, strategy, training):
        assert difference(got, train(training)) <= 1e-10


def one_pass(form, order, model):
    """Inside a rank: what a forward and a backward move, and the products of the forward, (step, made, seen)."""
    torch.set_num_threads(1)
    training = Training(model, batch=2)
    cut, params = cut_model(model, dist.group.WORLD, form, order), training.params()
    x, y = training.data(0)
    with counted() as there:
        total, _ = cut.loss_sum(cut.forward(params, cut.own(x)), cut.own(y))
    with counted() as back:
        total.backward()
    return there, back, list(cut.done)


@pytest.mark.parametrize("order", ["plain", "zigzag", "striped"])
def test_every_rank_computes_what_the_table_says(team, order):
    nranks, model = team.world.nranks, Transformer(layers=1, seq=32)
    found = [done for _, _, done in team.run(one_pass, "ring", order, model)]
    per_step = [[sum(one.seen for one in done if one.step == step) for step in range(nranks)] for done in found]
    assert per_step == work(order, 32, nranks)
    made = [sum(one.made for one in done) for done in found]
    n = 32 // nranks
    assert (
        made
        == {
            "plain": [(rank + 1) * n * n for rank in range(nranks)],
            "zigzag": [(2 * nranks + 1) * (n // 2) ** 2] * nranks,
            "striped": [nranks * n * n] * nranks,
        }[order]
    )


@pytest.mark.parametrize("form", ["ring", "gathered", "heads"])
def test_forward_and_backward_move_what_passes_has(team, form):
    model, nranks = Transformer(layers=1, seq=16, kv_heads=4), team.world.nranks
    paper = layer_passes(form, *sizes(model, 2, 8), nranks)
    for there, back, _ in team.run(one_pass, form, "plain", model):
        for moved, lines in ((there, paper.forward), (back, paper.backward)):
            assert {one.op: (moved.ncalls(one.op), moved.sent(one.op)) for one in lines} == {
                one.op: (one.calls, one.nbytes) for one in lines
            }
            assert moved.sent() == sum(one.nbytes for one in lines), "and nothing else"


def weighed(training):
    """Inside a rank: activations that it keeps, by form, with all ranks and with the sequence for itself."""
    torch.set_num_threads(1)
    alone, _ = dist.new_subgroups(group_size=1)
    return {
        form: [activations.kept(training, form, order, group) for group in (dist.group.WORLD, alone)]
        for form, order in (("ring", "zigzag"), ("heads", "plain"), ("gathered", "zigzag"))
    }


def test_a_rank_keeps_activations_of_its_own_tokens(team):
    """All but one number, 8 B, are of tokens: a P-th is left. Gathered keys are of everybody's, in every layer."""
    nranks, training = team.world.nranks, Training(Transformer(seq=32, kv_heads=4), batch=2)
    keys, _ = sizes(training.model, training.batch, training.itemsize)
    for found in team.run(weighed, training):
        for form in ("ring", "heads"):
            kept, alone = found[form]
            assert kept - 8 == (alone - 8) // nranks
        more = found["gathered"][0] - found["ring"][0]
        assert more > training.model.layers * keys * (nranks - 1) // nranks


# a part of the keys, in one process ---------------------------------------------------------------------------------
def drawn(*size):
    return torch.randn(size, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(size)))


def whole(q, k, v):
    scores = q.unflatten(1, (k.shape[1], -1)) @ k.unsqueeze(2).mT * q.shape[-1] ** -0.5
    return (scores.softmax(-1) @ v.unsqueeze(2)).flatten(1, 2), scores.logsumexp(-1).flatten(1, 2)


@pytest.mark.parametrize("at", [[3, 9], [1, 2], [0, 12], [6, 6]])
def test_parts_of_the_keys_make_the_whole_whatever_their_order(at):
    q, k, v = drawn(2, 4, 5, 8), drawn(2, 2, 12, 8), drawn(2, 2, 12, 8)
    pieces = [one for one in zip(k.tensor_split(at, 2), v.tensor_split(at, 2), strict=True) if one[0].shape[2]]
    for these in (pieces, pieces[::-1]):
        part = blocks.attend(q, *these[0])
        for one in these[1:]:
            part = blocks.merged(part, blocks.attend(q, *one))
        out, lse = whole(q, k, v)
        assert torch.allclose(part.out, out, atol=1e-12) and torch.allclose(part.lse, lse, atol=1e-12)


def test_a_part_without_a_key_for_a_query_adds_nothing_to_it():
    q, k, v = drawn(1, 2, 4, 8), drawn(1, 1, 6, 8), drawn(1, 1, 6, 8)
    none = blocks.attend(q, k, v, torch.zeros(4, 6, dtype=torch.bool))
    assert none.lse.eq(float("-inf")).all() and none.out.eq(0).all()
    some_keys = blocks.attend(q, k, v)
    both = blocks.merged(some_keys, none)
    assert torch.equal(both.out, some_keys.out) and torch.equal(both.lse, some_keys.lse)


def test_large_scores_do_not_overflow():
    q, k, v = 400 * drawn(1, 1, 3, 8).float(), 400 * drawn(1, 1, 6, 8).float(), drawn(1, 1, 6, 8).float()
    part = blocks.merged(blocks.attend(q, k[:, :, :3], v[:, :, :3]), blocks.attend(q, k[:, :, 3:], v[:, :, 3:]))
    assert part.out.isfinite().all() and torch.allclose(part.out, whole(q, k, v)[0], atol=1e-5)


def test_gradients_of_parts_add_up_to_autograds():
    q, k, v = (x.requires_grad_() for x in (drawn(1, 4, 5, 8), drawn(1, 2, 6, 8), drawn(1, 2, 6, 8)))
    out, lse = whole(q, k, v)
    grad = drawn(1, 4, 5, 7)[..., :1] * drawn(1, 4, 5, 8)
    want = torch.autograd.grad(out, (q, k, v), grad)
    mean, of_q, of_k, of_v = blocks.weighed(out, grad), 0, [], []
    for keys in (slice(0, 2), slice(2, 6)):
        more = blocks.gradients(q, k[:, :, keys], v[:, :, keys], lse, grad, mean)
        of_q, of_k, of_v = of_q + more[0], [*of_k, more[1]], [*of_v, more[2]]
    for got, expected in zip((of_q, torch.cat(of_k, 2), torch.cat(of_v, 2)), want, strict=True):
        assert torch.allclose(got, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("training", "nranks", "how", "said"),
    [
        (
            Training(LONG),
            3,
            {},
            "plain cuts a sequence into 3 chunks for 3 context ranks, and seq 16 .*: take seq 15 or 18",
        ),
        (Training(Transformer(seq=12)), 4, {"order": "zigzag"}, "take seq 8 or 16"),
        (
            Training(LONG),
            4,
            {"form": "heads"},
            "4 context ranks do not divide kv_heads 2: take kv_heads 4, or 2 context ranks",
        ),
        (Training(LONG), 2, {"form": "heads", "order": "zigzag"}, "tokens in the plain order, got 'zigzag'"),
        (Training(LONG), 2, {"form": "star"}, "one of ring, gathered, heads, got 'star'"),
        (Training(MLP()), 2, {}, "a sequence is that of a Transformer, got MLP"),
        (Training(LONG), 0, {}, "context ranks is a whole number from 1 on, got 0"),
    ],
)
def test_what_cannot_be_shared_out_is_refused_before_any_rank_starts(training, nranks, how, said):
    with pytest.raises(ValueError, match=said):
        context.ours.predicted(training, nranks, **how)
