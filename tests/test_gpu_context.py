"""gpu-check's ring beside another attention: near where that is right, far where its tokens or gradients are others."""

from __future__ import annotations

import pytest
import torch.nn.functional as F

from helpers.ranks import Ranks
from tools.gpu import context


@pytest.fixture(scope="module")
def ranks():
    with Ranks(2, backend="gloo", timeout=60) as ranks:
        yield ranks


def alone(whole, weight):
    """One process in the place of torch's ring, and of its output and gradients this rank's tokens."""
    own = [one.float().requires_grad_() for one in whole]
    out = F.scaled_dot_product_attention(*own, is_causal=True)
    (out * weight).sum().backward()
    return [one[:, :, context.mine(weight.shape[2])] for one in (out.detach(), *(x.grad for x in own))]


def without_the_others_gradients(whole, weight):
    out, of_q, of_k, of_v = alone(whole, weight)
    return [out, of_q, of_k / 2, of_v]


def test_it_is_near_what_is_right(ranks):
    for found in ranks.run(context.apart, alone):
        assert len(found) == 4 and max(found.values()) < context.NEAR / 100


def test_it_is_far_from_what_is_not(ranks):
    for found in ranks.run(context.apart, without_the_others_gradients):
        assert found["gradient of k"] > context.NEAR > found["gradient of v"]
