"""The models, the reference and the checks, in one process: seeded, cut into layers, and equal to what torch's own modules compute."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from helpers.parallel import MLP, Trained, Training, Transformer, difference, share, train
from helpers.parallel.checks import divides
from helpers.parallel.model import IGNORED
from helpers.parallel.module import Module
from helpers.parallel.sharded.ours import unit_sizes

MODELS = [MLP(), Transformer()]


@pytest.mark.parametrize("model", MODELS)
def test_parameters_are_the_same_numbers_in_every_type(model):
    wide, short = model.init(3), model.init(3, torch.bfloat16)
    assert all(torch.equal(wide[name].bfloat16(), short[name]) for name in model.shapes)
    assert {name: tuple(p.shape) for name, p in wide.items()} == model.shapes
    assert not any(torch.equal(wide[name], p) for name, p in model.init(4).items() if p.ndim > 1)


@pytest.mark.parametrize("model", MODELS)
def test_layers_hold_every_parameter_once(model):
    names = [name for i in range(model.depth) for name in model.names(i)]
    assert names == list(model.shapes) and sum(unit_sizes(model)) == model.nparams
    assert model.names(1) and model.names(model.depth) == []


def test_more_than_ten_layers_keep_their_names_apart():
    assert MLP(12, 4).names(1) == ["1.weight"]
    assert list(Module(MLP(12, 4), MLP(12, 4).init()).by_name()) == list(MLP(12, 4).shapes)


def test_the_mlp_is_torchs_own_layers():
    model, x = MLP(3, 8), torch.randn(5, 8, dtype=torch.float64)
    params = model.init()
    theirs = nn.Sequential(*[m for _ in range(3) for m in (nn.Linear(8, 8, bias=False), nn.GELU())][:-1]).double()
    theirs.load_state_dict({f"{2 * i}.weight": params[f"{i}.weight"].detach() for i in range(3)})
    assert torch.equal(model.forward(params, x), theirs(x))


def test_a_key_head_serves_its_query_heads():
    """With the rows of keys and values written out for every query head the output is the same."""
    few, many = Transformer(kv_heads=2), Transformer(kv_heads=4)
    params = few.init()
    spread = {
        name: p.unflatten(0, (2, few.head_width)).repeat_interleave(2, 0).flatten(0, 1) if name[2:] in "kv" else p
        for name, p in params.items()
    }
    x = few.data(0, 0, 2).x
    assert torch.allclose(few.forward(params, x), many.forward(spread, x), atol=1e-12)


def test_attention_looks_back_only():
    model = Transformer()
    params, x = model.init(), model.data(0, 0, 1).x
    other = x.clone()
    other[0, -1] = (other[0, -1] + 1) % model.vocab
    before, after = model.forward(params, x), model.forward(params, other)
    assert torch.equal(before[:, :-1], after[:, :-1]) and not torch.equal(before[:, -1], after[:, -1])


@pytest.mark.parametrize("model", MODELS)
def test_a_module_computes_what_the_model_does(model):
    params, batch = model.init(), model.data(0, 0, 4)
    module = Module(model, params)
    assert torch.equal(module(batch.x), model.forward(params, batch.x))
    assert [id(p) for p in module.by_name().values()] == [id(p) for p in params.values()]


def test_shares_are_the_batch_in_order():
    batch = Transformer().data(1, 2, 8)
    again = [share(batch, rank, 4) for rank in range(4)]
    assert torch.equal(torch.cat([one.x for one in again]), batch.x)
    assert torch.equal(torch.cat([one.y for one in again]), batch.y)
    assert torch.equal(batch.x[:, 1:], batch.y[:, :-1]), "the target is the next token"


def test_steps_and_seeds_have_other_data():
    data = [MLP().data(seed, step, 4).x for seed in (0, 1) for step in (0, 1)]
    assert len({x.sum().item() for x in data}) == 4 and torch.equal(data[0], MLP().data(0, 0, 4).x)


def test_padding_counts_for_nothing():
    model = Transformer()
    x, y = model.data(0, 0, 8, padded=True)
    out = model.forward(model.init(), x)
    total, count = model.loss_sum(out, y)
    assert 8 <= count < y.numel() and count == int((y != IGNORED).sum())
    assert (y[:, 0] != IGNORED).all(), "every sample has a token"
    alone = torch.stack([nn.functional.cross_entropy(out[b, s], y[b, s]) for b, s in (y != IGNORED).nonzero()])
    assert torch.allclose(alone.sum(), total) and torch.allclose(alone.mean(), model.loss(out, y))


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_the_reference_is_a_training_loop_of_torch(optimizer):
    training = Training(MLP(3, 8), optimizer=optimizer, steps=3)
    params = training.params()
    module, losses = Module(training.model, params), []
    kind = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[optimizer]
    steps = kind(module.parameters(), lr={"sgd": 0.1, "adamw": 0.01}[optimizer], foreach=False)
    for step in range(3):
        x, y = training.data(step)
        steps.zero_grad()
        loss = nn.functional.mse_loss(module(x), y)
        loss.backward()
        steps.step()
        losses.append(loss.item())
    got = train(training)
    assert got.losses == pytest.approx(losses, rel=1e-12)
    assert all(torch.allclose(got.params[name], p, atol=1e-13) for name, p in params.items())
    assert difference(got, Trained(losses, params)) < 1e-12
    assert all((got.params[n] - p).abs().max() > 1e-3 for n, p in training.params().items()), "it has learnt something"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("model", MODELS)
def test_short_types_stay_within_their_tolerance(model, dtype):
    training = Training(model, dtype=dtype, optimizer="adamw")
    far = difference(train(training), train(training.but(dtype=torch.float64)))
    assert 1e-10 < far < training.tolerance


def test_a_difference_is_seen_wherever_it_is():
    one = train(Training(MLP(2, 4), batch=2, steps=2))
    assert difference(one, one) == 0.0
    loss = Trained([one.losses[0], one.losses[1] + 1e-3], one.params)
    param = Trained(one.losses, one.params | {"1.weight": one.params["1.weight"] + 1e-4})
    assert difference(loss, one) == pytest.approx(1e-3) and difference(param, one) == pytest.approx(1e-4)
    lost = Trained([float("nan"), 0.0], one.params)
    assert not difference(lost, one) <= 1e9, "what is no number is no small difference"
    bad = Trained(one.losses, one.params | {"1.weight": one.params["1.weight"] * float("nan")})
    assert not difference(bad, one) <= 1e9
    with pytest.raises(ValueError, match=r"only one has \['1.weight'\]"):
        difference(Trained(one.losses, {"0.weight": one.params["0.weight"]}), one)
    with pytest.raises(ValueError, match="1 and 2 losses"):
        difference(Trained(one.losses[:1], one.params), one)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: divides(4, "ranks", 10, "batch"),
            "4 ranks do not divide batch 10: take batch 8 or 12, or 2 or 5 ranks",
        ),
        (lambda: divides(8, "ranks", 3, "batch"), "take batch 8, or 3 ranks"),
        (lambda: divides(0, "ranks", 3, "batch"), "ranks is a whole number from 1 on, got 0"),
        (lambda: Transformer(heads=3), "3 heads do not divide width 16: take width 15 or 18, or 2 or 4 heads"),
        (lambda: Transformer(kv_heads=3), "3 kv_heads do not divide heads 4: take heads 3 or 6, or 2 or 4 kv_heads"),
        (lambda: Transformer(layers=0), "layers is a whole number from 1 on, got 0"),
        (lambda: MLP(width=2.5), "width is a whole number from 1 on, got 2.5"),
        (lambda: MLP().data(0, 0, 4, padded=True), "one length"),
        (lambda: MLP().data(0, 0, 0), "batch is a whole number from 1 on, got 0"),
        (lambda: Training(optimizer="adam"), "optimizer is one of sgd, adamw, got 'adam'"),
        (lambda: Training(dtype=torch.float16), "dtype is one of torch.float64, .* got torch.float16"),
        (lambda: Training(steps=True), "steps is a whole number from 1 on, got True"),
        (lambda: share(MLP().data(0, 0, 6), 0, 4), "4 ranks do not divide batch 6: take batch 4 or 8, or 3 or 6 ranks"),
    ],
)
def test_what_cannot_be_is_told_with_what_can(make, said):
    with pytest.raises(ValueError, match=said):
        make()
