"""Context parallel training: every rank has all parameters and some tokens of every sequence. Chapter: context.

In each layer the ranks' attention moves what `helpers.context.layer_passes` has. All else is as in data parallel training: a rank
has seen some of the tokens, so gradients are terms of a sum, and one all_reduce of N bytes of parameters adds them up,
2N(P-1)/P. The loss of a rank is divided by the count of all ranks' tokens, so that nothing depends on who has how many.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import torch
import torch.distributed as dist

from helpers.context import layer_passes
from helpers.parallel.data.replicated import nbytes, states
from helpers.parallel.model import Params, Transformer
from helpers.parallel.reference import Trained, Training
from helpers.parallel.strategy import Predicted, Strategy, watched

from .cut import check, cut_model


def context(training: Training, form: str = "ring", order: str = "plain") -> Trained:
    """Inside a rank: all ranks share out every sequence. form, order: as helpers.context has them."""
    check(training.model, dist.get_world_size(), form, order)
    model = cut_model(training.model, dist.group.WORLD, form, order)
    params, losses = training.params(), []
    optimizer = training.make_optimizer(params.values())
    with watched(model, params, optimizer) as watch:
        for step in range(training.steps):
            x, y = training.data(step)
            total, _ = model.loss_sum(model.forward(params, model.own(x)), model.own(y))
            loss = total / model.terms(y)
            loss.backward()
            add_up(params)
            watch.after_backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.detach().double())
    whole = torch.stack(losses)
    dist.all_reduce(whole)
    return watch.trained(whole.tolist(), params)


def add_up(params: Params) -> None:
    """Every gradient becomes the sum over ranks, in one all_reduce."""
    flat = torch.cat([p.grad.flatten() for p in params.values()])
    dist.all_reduce(flat)
    for p, piece in zip(params.values(), flat.split([p.numel() for p in params.values()]), strict=True):
        p.grad.copy_(piece.view_as(p))


def predicted(training: Training, nranks: int, rank: int = 0, form: str = "ring", order: str = "plain") -> Predicted:
    """`layer_passes` in every layer, and the gradients' all_reduce. ValueError as `cut.check`."""
    check(training.model, nranks, form, order)
    model, steps = training.model, training.steps
    moved = layer_passes(form, *sizes(model, training.batch, training.itemsize), nranks)
    calls, sent = {"all_reduce": steps}, {"all_reduce": steps * nbytes(training) * Fraction(2 * (nranks - 1), nranks)}
    for op, number, n in moved.forward + moved.backward:
        calls[op] = calls.get(op, 0) + number * model.layers * steps
        sent[op] = sent.get(op, Fraction(0)) + n * model.layers * steps
    if "send" in calls:
        calls["recv"] = calls["send"]
    return Predicted(calls, sent, states(training))


def sizes(model: Transformer, batch: int, itemsize: int) -> tuple[int, int]:
    """(keys and values of all tokens, the stream), of one layer in bytes: what `layer_passes` takes."""
    tokens = batch * model.seq * itemsize
    return 2 * tokens * model.kv_heads * model.head_width, tokens * model.width


def on(nranks: int) -> tuple[Strategy, ...]:
    """All forms and orders on so many ranks, which divide a width of 16: two tokens in each chunk, a head or more for each rank."""
    heads, seq = max(4, nranks), 4 * nranks
    few, many = (Transformer(heads=heads, kv_heads=kv_heads, seq=seq) for kv_heads in (2, heads))
    return (
        _strategy("ring", few, form="ring"),
        _strategy("ring in zigzag", few, form="ring", order="zigzag"),
        _strategy("ring in stripes", few, form="ring", order="striped"),
        _strategy("gathered in zigzag", few, form="gathered", order="zigzag"),
        _strategy("all_to_all", many, form="heads"),
    )


def _strategy(name: str, model: Transformer, **how: str) -> Strategy:
    training = Training(model, optimizer="adamw")
    return Strategy(f"context, {name}", partial(context, **how), partial(predicted, **how), training)


STRATEGIES = on(4)
