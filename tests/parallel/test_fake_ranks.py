"""torch's FSDP2 on ranks that are not there: nothing of them is left, and a rank that is there is told so."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist

from helpers.measure import predict_step
from helpers.measure.sharding import Sharding, ShardingError

ASK = {"precision": "fsdp2", "sharding": Sharding(data=8, zero=3), "loss": torch.sum}


def small(**kind) -> torch.nn.Module:
    return torch.nn.Sequential(*[torch.nn.Linear(64, 64, **kind) for _ in range(2)])


def test_they_are_gone_after_a_prediction_and_after_one_that_fails():
    predict_step(small(), inputs=torch.empty(8, 64), **ASK)
    with pytest.raises(RuntimeError, match="invalid gradient"):
        predict_step(small(), inputs=torch.empty(8, 63), **ASK)
    assert not dist.is_initialized()
    predict_step(small(), inputs=torch.empty(8, 64), **ASK)


def asked() -> str:
    with pytest.raises(ShardingError) as refused:
        predict_step(small(), inputs=torch.empty(8, 64), **ASK)
    return str(refused.value)


def test_a_rank_is_told_to_predict_elsewhere(ranks):
    n = ranks.nranks
    assert ranks.run(asked) == [
        f"FSDP2 is predicted in a process of its own, and this is rank {r} of {n}" for r in range(n)
    ]
