"""Tensor, expert, norms and meshes on real Gloo ranks: each equals single-process training, its traffic and its memory the formula."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from lanes import some

from helpers.parallel import expert, meshes, norms, tensor
from helpers.parallel.counting import counted
from helpers.parallel.expert.routed import Routed
from helpers.parallel.model import MLP, Transformer
from helpers.parallel.pipeline.ours import Pipeline
from helpers.parallel.reference import Training, difference, train
from helpers.parallel.tensor import activations, matmul, ours
from helpers.ranks import Ranks

STRATEGIES = (*tensor.STRATEGIES, *expert.STRATEGIES, *norms.STRATEGIES, *meshes.STRATEGIES)
ALWAYS = {
    "tensor, pairs",
    "tensor, transformer, sequence",
    "tensor, DTensor, transformer, pairs",
    "expert",
    "norms, batch norm in step",
    "mesh, ZeRO-3 x TP, checkpointed",
    "mesh, FSDP2 x DTensor",
    "mesh, TP x PP, sequence",
}
DTYPES = (torch.float32, torch.bfloat16)
SIZES = 8, 16, 4  # of b, i and o


def trained(strategy, training):
    torch.set_num_threads(1)
    return strategy.train(training)


@pytest.fixture(scope="module", params=some([2, 4], [4], "fewer ranks"))
def ranks(request):
    with Ranks(request.param, backend="gloo", timeout=60) as ranks:
        yield ranks


def fits(strategy, nranks: int) -> bool:
    """Meshes name their ranks, and teams of two are no teams among two."""
    return nranks == strategy.nranks or strategy not in (*meshes.STRATEGIES, expert.STRATEGIES[1])


@pytest.mark.parametrize(
    "strategy",
    some(STRATEGIES, [one for one in STRATEGIES if one.name in ALWAYS], "more strategies on real ranks"),
    ids=lambda one: one.name,
)
def test_it_equals_a_single_process_and_the_formulas(ranks, strategy):
    nranks = ranks.world.nranks
    if not fits(strategy, nranks):
        assert nranks == 2
        return
    want = strategy.reference(strategy.training, nranks)
    for rank, got in enumerate(ranks.run(trained, strategy, strategy.training)):
        paper = strategy.predicted(strategy.training, nranks, rank)
        assert difference(got, want) <= 1e-10
        assert got.moved.by_op() == {op: n for op, n in paper.calls.items() if n}
        assert {op: got.moved.sent(op) for op in paper.sent} == dict(paper.sent)
        assert got.held == dict(paper.held)


@pytest.mark.parametrize("dtype", some(DTYPES, [torch.bfloat16], "other types"), ids=str)
def test_shorter_numbers_stay_within_their_tolerance(ranks, dtype):
    for strategy in (*ours.STRATEGIES[:3], expert.STRATEGIES[0], norms.STRATEGIES[0]):
        training = strategy.training.but(dtype=dtype, steps=2 if isinstance(strategy.training.model, Routed) else 5)
        got = ranks.run(trained, strategy, training)[-1]
        assert difference(got, strategy.reference(training, ranks.world.nranks)) <= training.tolerance, strategy.name


def alone(training):
    """Each rank's batch norm by itself."""
    return norms.normed(training, together=False)


def test_batch_norm_that_asks_nobody_trains_another_model(ranks):
    training = norms.STRATEGIES[0].training
    assert difference(ranks.run(alone, training)[0], train(training)) > 1e-3


def uneven(seed: int):
    """Ranks with 3, 4, 5 ... samples each: values, gradients, and what one process makes of all of them."""
    made, rank, nranks = torch.Generator().manual_seed(seed), dist.get_rank(), dist.get_world_size()
    every = [torch.randn(3 + r, 5, generator=made, dtype=torch.float64) + 1000 for r in range(nranks)]
    weight = torch.randn(sum(map(len, every)), 5, generator=made, dtype=torch.float64)
    mine = every[rank].clone().requires_grad_()
    out = norms.synchronised(mine, dist.group.WORLD)
    (out * weight.split(list(map(len, every)))[rank]).sum().backward()
    whole = torch.cat(every).requires_grad_()
    want = torch.nn.functional.batch_norm(whole, None, None, training=True, eps=norms.EPS)
    (want * weight).sum().backward()
    at = slice(sum(map(len, every[:rank])), sum(map(len, every[: rank + 1])))
    return (out - want[at]).abs().max().item(), (mine.grad - whole.grad[at]).abs().max().item()


def test_batch_norm_of_unequal_shares_far_from_zero(ranks):
    assert all(max(far) < 1e-9 for far in ranks.run(uneven, 1))


def peak_of(training, way, checkpoint):
    return ours.tensor(training, way, checkpoint).peak


def test_checkpointing_and_sequence_hold_less(ranks):
    """Of activations; states are the same in all three."""
    training = Training(Transformer(layers=4, kv_heads=4, seq=32), steps=1)
    pairs, sequence, again = (
        ranks.run(peak_of, training, way, checkpoint)[0]
        for way, checkpoint in (("pairs", False), ("sequence", False), ("sequence", True))
    )
    assert again < sequence < pairs


@pytest.mark.parametrize("way", ["gathered", "pairs", "sequence"])
@pytest.mark.parametrize("checkpoint", [False, True])
def test_activations_are_those_on_paper(ranks, way, checkpoint):
    training, nranks = Training(), ranks.world.nranks
    assert set(ranks.run(activations.kept, training, way, checkpoint)) == {
        activations.predicted(training, nranks, way, checkpoint)
    }


@pytest.mark.parametrize("way", ["pairs", "sequence"])
@pytest.mark.parametrize("checkpoint", [False, True])
def test_activations_of_a_transformer_are_those_on_paper(ranks, way, checkpoint):
    """Two samples: what is gathered along tokens lies in another order than it came, and is kept once."""
    training, nranks = Training(Transformer(layers=3, kv_heads=4), batch=2), ranks.world.nranks
    assert set(ranks.run(activations.kept, training, way, checkpoint)) == {
        activations.predicted(training, nranks, way, checkpoint)
    }


def multiplied(dims, y):
    """(difference from the whole product, bytes sent, bytes predicted) of this rank, and what DTensor makes of the same."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    rank, nranks, made = dist.get_rank(), dist.get_world_size(), torch.Generator().manual_seed(0)
    b, i, o = SIZES
    x, w = (torch.randn(size, generator=made, dtype=torch.float64) for size in ((b, i), (i, o)))
    case = matmul.case(*dims, y)
    mine = matmul.part(x, dims[0], matmul.X_DIMS, rank, nranks), matmul.part(w, dims[1], matmul.W_DIMS, rank, nranks)
    with counted() as moved:
        got = matmul.matmul(*mine, case, dims, dist.group.WORLD)
    far = (got - matmul.part(x @ w, case.y, matmul.Y_DIMS, rank, nranks)).abs().max().item()
    mesh = init_device_mesh("cpu", (nranks,))
    lie = [
        [Shard(names.index(dim)) if dim else Replicate()]
        for dim, names in zip(dims, (matmul.X_DIMS, matmul.W_DIMS), strict=True)
    ]
    theirs = distribute_tensor(x, mesh, lie[0]) @ distribute_tensor(w, mesh, lie[1])
    far_theirs = (theirs.full_tensor() - x @ w).abs().max().item()
    return far, moved.sent(), matmul.sent(case, SIZES, nranks, 8), far_theirs


@pytest.mark.parametrize("x", ["", "b", "i"])
@pytest.mark.parametrize("w", ["", "i", "o"])
def test_how_matrices_are_cut_decides_the_collective(ranks, x, w):
    for y in ("", "b", "o") if (x, w) == ("i", "i") else ("",):
        for far, sent, paper, theirs in ranks.run(multiplied, (x, w), y):
            assert max(far, theirs) < 1e-12 and sent == paper


def drops(training):
    """Choices dropped in the first layer with experts on this rank's samples of step 0."""
    from helpers.parallel.model import share

    model, params = training.model, training.params()
    x, _ = share(training.data(0), dist.get_rank(), dist.get_world_size())
    return model.route(1, params, model.layer(0, params, x)).dropped


def test_what_is_compared_drops_tokens(ranks):
    """And a single process that knows one capacity for all is another model."""
    training = expert.STRATEGIES[0].training
    assert sum(ranks.run(drops, training)) > 0
    assert difference(train(training), expert.ours.reference(training, ranks.world.nranks)) > 1e-3


@pytest.mark.matrix("eight ranks on three axes")
def test_three_axes():
    """Ours and torch's, in one pool."""
    with Ranks(8, backend="gloo", timeout=120) as eight:
        for strategy in meshes.THREE:
            want = strategy.reference(strategy.training, 8)
            for rank, got in enumerate(eight.run(trained, strategy, strategy.training)):
                paper = strategy.predicted(strategy.training, 8, rank)
                assert difference(got, want) <= 1e-10
                assert (got.moved.sent(), got.held) == (paper.total, dict(paper.held))


def test_a_mesh_tells_which_axis_moves_what(ranks):
    if ranks.world.nranks == 2:
        return
    got = ranks.run(trained, meshes.STRATEGIES[1], meshes.STRATEGIES[1].training)[1].moved
    assert got.ncalls("all_reduce", (0, 1)) == got.ncalls("all_reduce") == 40  # the tensor axis: neighbours
    assert got.ncalls("all_gather", (1, 3)) == got.ncalls("all_gather") == 40  # the shard axis


def of_each_axis(training, axes, how):
    """Inside a rank: (axis, group, bytes counted there, bytes on paper)."""
    got, groups = meshes.piped(training, axes, how), meshes.groups(axes.mesh())
    paper = meshes.by_axis_piped(training, dist.get_world_size(), dist.get_rank(), axes=axes, how=how)
    return [
        (n, group, got.moved.sent(group=group), sum(b for _, b in paper[n].values())) for n, group in groups.items()
    ]


def test_every_axis_moves_what_its_line_says(ranks):
    """By group, so that an all_reduce among tensor ranks is not taken for one among data ranks."""
    if ranks.world.nranks == 2:
        return
    training = Training(ours.WIDE, optimizer="adamw", steps=2)
    for axes in (meshes.PipelineAxes(1, 2, 2), meshes.PipelineAxes(2, 1, 2)):
        for rank, found in enumerate(ranks.run(of_each_axis, training, axes, Pipeline(nmicrobatches=4))):
            assert all(counted == paper for *_, counted, paper in found)
            inner = rank - rank % 2
            assert found[2][1] == (inner, inner + 1) and found[2][2] > 0


@pytest.mark.parametrize("way", some(["gathered", "pairs", "sequence"], ["sequence"], "other schedules of slices"))
@pytest.mark.parametrize("schedule", some(["gpipe", "interleaved", "zb-h1"], ["zb-h1"], "other schedules of slices"))
@pytest.mark.parametrize(
    "model", some([MLP(8), Transformer(6, kv_heads=4)], [MLP(8)], "slices of a Transformer"), ids=str
)
def test_slices_go_through_every_pipeline(ranks, model, schedule, way):
    if ranks.world.nranks == 2:
        return
    how = {"axes": meshes.PipelineAxes(1, 2, 2), "how": Pipeline(schedule, 4), "way": way}
    training = Training(model, batch=16, steps=2, padded=isinstance(model, Transformer))
    want = train(training)
    for rank, got in enumerate(ranks.run(piped, training, how)):
        paper = meshes.predicted_piped(training, 4, rank, **how)
        assert difference(got, want) <= 1e-10
        assert (got.moved.by_op(), got.held) == ({op: n for op, n in paper.calls.items() if n}, dict(paper.held))
        assert {op: got.moved.sent(op) for op in paper.sent} == dict(paper.sent)


def piped(training, how):
    torch.set_num_threads(1)
    return meshes.piped(training, **how)


def test_recompute_on_a_mesh_holds_less(ranks):
    if ranks.world.nranks == 2:
        return
    for kept, again in (meshes.STRATEGIES[1], meshes.STRATEGIES[3]), (meshes.STRATEGIES[2], meshes.STRATEGIES[4]):
        peaks = [ranks.run(trained, one, one.training.but(steps=1))[0].peak for one in (kept, again)]
        assert peaks[1] < peaks[0]


@pytest.mark.matrix("an MLP of other depths")
@pytest.mark.parametrize("way", ["gathered", "pairs", "sequence"])
@pytest.mark.parametrize("layers", some([2, 6], [6], "other depths"))
@pytest.mark.parametrize("checkpoint", [False, True])
def test_other_depths(ranks, way, layers, checkpoint):
    training = Training(MLP(layers))
    for got in ranks.run(ours.tensor, training, way, checkpoint):
        paper = ours.predicted(training, ranks.world.nranks, 0, way, checkpoint)
        assert difference(got, train(training)) <= 1e-10 and got.moved.sent() == paper.total


@pytest.mark.gpus(2)
def test_batch_norm_equals_torchs_on_gpus():
    """torch.nn.SyncBatchNorm refuses the CPU."""
    with Ranks(2) as gpus:
        assert all(far < 1e-10 for far in gpus.run(beside_torchs))


def beside_torchs():
    made = torch.Generator("cpu").manual_seed(dist.get_rank())
    x = torch.randn(6, 5, generator=made, dtype=torch.float64, device="cpu").cuda()
    one, other = x.clone().requires_grad_(), x.clone().requires_grad_()
    theirs = torch.nn.SyncBatchNorm(5, eps=norms.EPS, affine=False, track_running_stats=False).cuda()
    ours_out, theirs_out = norms.synchronised(one, dist.group.WORLD), theirs(other)
    for out in (ours_out, theirs_out):
        out.pow(3).sum().backward()
    return max((ours_out - theirs_out).abs().max().item(), (one.grad - other.grad).abs().max().item())
