"""ZeRO on real Gloo ranks: the states of each rank are the formula's to the byte, and training is that of a single rank."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.distributed as dist
from torch import nn

from helpers.parallel.zero import Adam, Alone, Paper, Zero
from helpers.ranks import Ranks

STAGES = (1, 2, 3)
WIDTHS = {"divides": (8, 16, 8, 4), "does not divide": (8, 9, 4, 3)}  # of the linear maps; with 2 and 4 ranks
NBYTES = {torch.float32: (4, 4, 8), torch.bfloat16: (2, 2, 12)}  # of a parameter, its gradient, its optimizer state


def chain(widths, dtype=torch.float32, whole=False) -> nn.Sequential:
    """Linear maps with their biases; whole: small whole numbers, so that sums are exact in any order."""
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(a, b) for a, b in itertools.pairwise(widths)]).to(dtype)
    if whole:
        for p in model.parameters():
            p.data = torch.arange(p.numel()).remainder(3).sub(1).view(p.shape).to(dtype)
    return model


def started(stage, widths, dtype=torch.float32, whole=False, prefetch=False, alone=False):
    """(model under ZeRO, its inputs, its targets) of one rank, or of one that has all of the batch."""
    torch.set_num_threads(1)
    rank, nranks = (0, 1) if alone else (dist.get_rank(), dist.get_world_size())
    zero = Zero(chain(widths, dtype, whole), stage, group=Alone() if alone else None, prefetch=prefetch)
    x, y = (t.chunk(nranks)[rank] for t in batch_of(widths, dtype, whole))
    return zero, x, y


def batch_of(widths, dtype=torch.float32, whole=False):
    torch.manual_seed(1)
    x, y = torch.randn(8, widths[0]), torch.randn(8, widths[-1])
    return (t.mul(2).round().to(dtype) if whole else t.to(dtype) for t in (x, y))


def trained(stage, widths, dtype=torch.float32, prefetch=False, alone=False, steps=3):
    """(losses of the whole batch, parameters at the end, bytes held) of one rank."""
    zero, x, y = started(stage, widths, dtype, False, prefetch, alone)
    losses = torch.zeros(steps)
    for i in range(steps):
        loss = (zero.model(x) - y).pow(2).sum(1).mean()
        loss.backward()
        losses[i] = loss.detach()
        zero.step()
        zero.zero_grad()
    for unit in zero.units:
        unit.gather()
    if not alone:
        dist.all_reduce(losses, op=dist.ReduceOp.AVG)
    return losses.tolist(), [p.detach().flatten().tolist() for p in zero.model.parameters()], zero.nbytes()


def gradients(stage, widths, alone=False):
    """This rank's share of the gradient, unit by unit, of whole numbers."""
    zero, x, y = started(stage, widths, whole=True, alone=alone)
    (zero.model(x) - y).pow(2).sum(1).mean().backward()
    zero.reduce()
    return [unit.grad.tolist() for unit in zero.units]


@pytest.fixture(scope="module", params=[2, 4])
def ranks(request):
    with Ranks(request.param, backend="gloo", timeout=120) as ranks:
        yield ranks


def padded(widths, nranks: int) -> int:
    """Elements of all units, each padded on its own."""
    units = [a * b + b for a, b in itertools.pairwise(widths)]
    return sum(-(-unit // nranks) * nranks for unit in units)


def formula(stage: int, elements: int, nranks: int, dtype) -> dict[str, int]:
    """The paper's table, for one rank: what stage i shares out is divided by the ranks."""
    each = dict(zip(("parameter", "gradient", "optimizer"), NBYTES[dtype], strict=True))
    shared = {"optimizer": 1, "gradient": 2, "parameter": 3}
    return {cls: elements * each[cls] // (nranks if stage >= shared[cls] else 1) for cls in each}


@pytest.mark.parametrize("dtype", NBYTES)
@pytest.mark.parametrize("widths", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("stage", STAGES)
def test_every_rank_holds_the_formulas_bytes(ranks, stage, widths, dtype):
    want = formula(stage, padded(widths, ranks.nranks), ranks.nranks, dtype)
    assert [held for *_, held in ranks.run(trained, stage, widths, dtype, steps=1)] == [want] * ranks.nranks


@pytest.mark.parametrize("prefetch", [False, True])
@pytest.mark.parametrize("stage", STAGES)
def test_training_is_that_of_a_single_rank(ranks, stage, prefetch):
    widths = WIDTHS["does not divide"]
    losses, params, _ = trained(stage, widths, alone=True)
    for got_losses, got_params, _ in ranks.run(trained, stage, widths, torch.float32, prefetch):
        assert got_losses == pytest.approx(losses, rel=1e-5)
        for got, want in zip(got_params, params, strict=True):
            assert got == pytest.approx(want, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("stage", STAGES)
def test_gradients_of_whole_numbers_are_exact(ranks, stage):
    """Side by side the ranks' shares are the single rank's gradient, bit for bit, with zeros as padding."""
    widths = WIDTHS["does not divide"]
    shares = ranks.run(gradients, stage, widths)
    for number, want in enumerate(gradients(stage, widths, alone=True)):
        got = [x for share in shares for x in share[number]]
        assert got[: len(want)] == want and any(want) and not any(got[len(want) :])


def test_alone_it_is_torchs_adamw_bit_for_bit():
    widths = WIDTHS["divides"]
    _, params, _ = trained(3, widths, alone=True)
    model = chain(widths)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    x, y = batch_of(widths)
    for _ in range(3):
        (model(x) - y).pow(2).sum(1).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    assert params == [p.detach().flatten().tolist() for p in model.parameters()]


def test_a_float64_share_keeps_float64_states():
    """Equal to torch's AdamW to the last bits: states in float32 would be off by 1e-8."""
    torch.manual_seed(0)
    share = torch.randn(32, dtype=torch.float64)
    theirs = nn.Parameter(share.clone())
    ours, optimizer = Adam(share, lr=1e-2), torch.optim.AdamW([theirs], lr=1e-2, foreach=False)
    for _ in range(5):
        theirs.grad = torch.randn(32, dtype=torch.float64)
        ours.step(theirs.grad)
        optimizer.step()
    assert torch.equal(share, theirs.detach()) and ours.master is share
    assert [tensor.dtype for tensor in ours.state] == [torch.float64] * 2


def test_stage_three_has_no_parameter_at_rest_beyond_its_share():
    """Between steps the whole buffers have no memory, on the meta device as well."""
    model = chain(WIDTHS["divides"]).to("meta")
    zero = Zero(model, 3, group=Paper(4))
    assert [unit.whole.untyped_storage().nbytes() for unit in zero.units] == [0, 0, 0]
    model(torch.empty(2, 8, device="meta")).sum().backward()
    assert [unit.whole.untyped_storage().nbytes() for unit in zero.units] == [0, 0, 0]
    assert all(p.grad is None for p in model.parameters())


def test_a_checkpointed_block_keeps_its_weights_until_its_backward():
    from torch.utils.checkpoint import checkpoint

    def step(recompute):
        model = chain((8, 8, 8))
        zero = Zero(model, 3, group=Alone())
        x = torch.ones(2, 8, requires_grad=True)
        for layer in model:
            x = checkpoint(layer, x, use_reentrant=False) if recompute else layer(x)
        x.sum().backward()
        return [unit.grad.tolist() for unit in zero.units], [unit.here for unit in zero.units]

    assert step(True) == step(False) and step(True)[1] == [False, False]


@pytest.mark.parametrize("stage", [0, 4, "3"])
def test_a_stage_that_is_none_is_refused(stage):
    with pytest.raises(ValueError, match=f"ZeRO has stages 1, 2 and 3, got {stage!r}"):
        Zero(chain((4, 4)), stage, group=Alone())


def test_what_cannot_be_shared_out_is_refused():
    model = chain((4, 4))
    model[0].bias.requires_grad_(False)
    with pytest.raises(ValueError, match=r"frozen: 0\.bias"):
        Zero(model, 3, group=Alone())
    with pytest.raises(ValueError, match="the model has none at all"):
        Zero(nn.ReLU(), 1, group=Alone())
    with pytest.raises(ValueError, match="got rank 4 of 4"):
        Paper(4, 4)


def test_a_step_without_a_backward_is_refused():
    zero = Zero(chain((4, 4, 4)), 2, group=Alone())
    with pytest.raises(RuntimeError, match="every parameter of 0, 1"):
        zero.step()
