"""Tokens in parts of unequal sizes on real ranks: equal to one process, forward and backward, also where a rank gets nothing."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F

from helpers.collectives.routing import made_up
from helpers.parallel import counted, expert

EXPERTS, TOKENS, WIDTH, FFN = 8, 6, 4, 5


def numbers():
    made = torch.Generator("cpu").manual_seed(3)
    shapes = (4 * TOKENS, WIDTH), (EXPERTS, FFN, WIDTH), (EXPERTS, WIDTH, FFN)
    return [torch.randn(shape, generator=made, dtype=torch.float64, device="cpu") for shape in shapes]


def one_process(chosen):
    x, up, down = (t.requires_grad_() for t in numbers())
    out = torch.einsum("tkf,tkwf->tkw", F.gelu(torch.einsum("tw,tkfw->tkf", x, up[chosen])), down[chosen])
    out.square().sum().backward()
    return [out.detach(), x.grad, up.grad, down.grad]


def on_ranks(chosen):
    rank, (x, up, down), here = dist.get_rank(), numbers(), EXPERTS // dist.get_world_size()
    mine, own = slice(rank * TOKENS, (rank + 1) * TOKENS), slice(rank * here, (rank + 1) * here)
    x, up, down = (t.clone().requires_grad_() for t in (x[mine], up[own], down[own]))
    with counted() as moved:
        out = expert.uneven.answered(x, chosen[mine], up, down, dist.group.WORLD)
        out.square().sum().backward()
    return [out.detach(), x.grad, up.grad, down.grad], moved


@pytest.mark.parametrize(("top_k", "skew"), [(2, 40), (1, 100)])
def test_unequal_parts_equal_one_process(ranks, top_k, skew):
    routes = made_up(4, TOKENS, EXPERTS, top_k, skew)
    assert len({sum(column) for column in zip(*routes.matrix, strict=True)}) > 1
    chosen = torch.tensor(routes.chosen).flatten(0, 1)
    found = ranks.run(on_ranks, chosen)
    got = [torch.cat(parts) for parts in zip(*(parts for parts, _ in found), strict=True)]
    for mine, want in zip(got, one_process(chosen), strict=True):
        assert mine.shape == want.shape and (mine - want).abs().max() < 1e-12
    for rank, (_, moved) in enumerate(found):
        out = sum(routes.matrix[rank]) - routes.matrix[rank][rank]
        home = sum(row[rank] for row in routes.matrix) - routes.matrix[rank][rank]
        assert [call.sent for call in moved.calls] == [
            8 * EXPERTS * 3 // 4,
            *(8 * WIDTH * n for n in (out, home, out, home)),
        ]


def test_a_rank_that_nobody_wants_computes_nothing_and_waits_for_nobody(ranks):
    chosen = torch.full((4 * TOKENS, 1), 7)
    for rank, (parts, moved) in enumerate(ranks.run(on_ranks, chosen)):
        assert (parts[2].abs().sum() == 0) == (rank != 3)
        assert moved.calls[1].taken == (4 * TOKENS * WIDTH * 8 if rank == 3 else 0)


@pytest.mark.parametrize("share_out", [4, 2])
def test_gradients_with_slots_equal_one_process_that_drops_alike(ranks, share_out):
    """Without an optimizer: what one step's backward leaves, and the bytes of the formula."""
    training = expert.STRATEGIES[0].training.but(steps=1)
    params, (x, y) = training.params(), training.data(0)
    model = expert.Routed(parts=4)
    model.loss(model.forward(params, x), y).backward()
    for got, moved in ranks.run(expert.ours.gradients, training, share_out):
        assert got.keys() == params.keys()
        assert all((got[name] - p.grad).abs().max() < 1e-12 for name, p in params.items())
        assert moved.sent() == expert.ours.predicted(training, 4, ranks=share_out).total
