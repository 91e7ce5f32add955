"""The models that are predicted and tracked compute what their names say."""

from types import SimpleNamespace

import pytest
import torch

from helpers.step.models import ATTENTIONS, Attention

SHAPE = SimpleNamespace(hidden=8, heads=2, kv_heads=1, head_dim=4, kv_hidden=4, bias=False)


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_attention_drops_out_in_training_alone(kind):
    torch.manual_seed(0)
    dropping, plain = (Attention(SHAPE, kind, dropout) for dropout in (0.5, 0.0))
    plain.load_state_dict(dropping.state_dict())
    x = torch.randn(2, 5, 8)
    assert torch.equal(dropping.eval()(x, None), plain(x, None))
    assert not torch.equal(dropping.train()(x, None), plain(x, None))
