"""Batch norm needs to know the whole batch, layer norm one sample: what that means when the batch is divided. Chapter: data-parallel.

What data must move, when, and why: batch norm subtracts a channel's mean over the batch and divides by its deviation. Where each rank
takes its own samples', the model is another one, and depends on how many ranks there are. So each rank tells the others, per channel,
its mean and its sum of squared deviations, and how many samples it has: an all_gather of (2C + 1) numbers a rank, forward, in every layer,
before it can go on. Backward two sums per channel pass an all_reduce. That is little, 2C numbers whatever the batch; what it
costs is the latency of two collectives a layer that wait for the slowest rank. Layer norm's statistics are a sample's own: nothing moves.

The statistics are merged as Chan, Golub and LeVeque (1979) do, not from sums of squares, whose difference loses the digits.
torch.nn.SyncBatchNorm moves the same (torch/nn/modules/_functions.py), and runs on GPUs only.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

from helpers.parallel.checks import divides
from helpers.parallel.model import MLP, Params, share
from helpers.parallel.reference import Trained, Training
from helpers.parallel.strategy import Predicted, Strategy, watched
from helpers.parallel.tensor.ours import states

EPS = 1e-5
KINDS = ("batch", "layer")


@dataclass(frozen=True)
class Normed(MLP):
    """The deep MLP with a norm in front of every GELU. kind: "batch" or "layer". ValueError for another.

    group: None normalises over the samples that are here; a group, inside a rank, over those of all its ranks ("batch" only).
    """

    kind: str = "batch"
    group: dist.ProcessGroup | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in KINDS:
            raise ValueError(f"kind is one of {', '.join(KINDS)}, got {self.kind!r}")

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        norms = {f"{i}.norm": (self.width,) for i in range(self.layers - 1)}
        return super().shapes | norms

    def layer(self, i: int, params: Params, x: Tensor) -> Tensor:
        """x [batch, width] -> the same shape."""
        x = F.linear(x, params[f"{i}.weight"])
        return F.gelu(self.normed(x, params[f"{i}.norm"])) if i < self.layers - 1 else x

    def normed(self, x: Tensor, weight: Tensor) -> Tensor:
        if self.kind == "layer":
            return F.layer_norm(x, weight.shape, weight, eps=EPS)
        if self.group is None:
            return F.batch_norm(x, None, None, weight, training=True, eps=EPS)
        return synchronised(x, self.group) * weight


class _Synchronised(Function):
    @staticmethod
    def forward(ctx, x: Tensor, group: dist.ProcessGroup, eps: float) -> Tensor:
        mean, squares, count = everybodys(x, group)
        scale = (squares / count + eps).rsqrt()
        out = (x - mean) * scale
        ctx.save_for_backward(out, scale)
        ctx.group, ctx.count = group, count
        return out

    @staticmethod
    def backward(ctx, grad: Tensor):
        """With y = (x - mean) * scale: dx = scale * (g - mean(g) - y * mean(g * y)), both means over everybody's samples."""
        out, scale = ctx.saved_tensors
        sums = torch.stack([grad.sum(0), (grad * out).sum(0)])
        dist.all_reduce(sums, group=ctx.group)
        of_grad, of_product = sums / ctx.count
        return scale * (grad - of_grad - out * of_product), None, None


def everybodys(x: Tensor, group: dist.ProcessGroup) -> tuple[Tensor, Tensor, Tensor]:
    """(mean, sum of squared deviations from it, samples) of all ranks' x [samples, channels]: [channels], [channels], a scalar.

    Ranks may have unequally many samples. sum over ranks of (squares + count * (mean - whole mean)^2).
    """
    mean, count = x.mean(0), x.new_tensor([len(x)])
    mine = torch.cat([mean, (x - mean).square().sum(0), count])
    every = mine.new_empty(group.size() * len(mine))
    dist.all_gather_into_tensor(every, mine, group=group)
    means, squares, counts = every.view(group.size(), -1).split([len(mean), len(mean), 1], 1)
    total = counts.sum()
    whole = (means * counts).sum(0) / total
    return whole, (squares + counts * (means - whole).square()).sum(0), total


def synchronised(x: Tensor, group: dist.ProcessGroup, eps: float = EPS) -> Tensor:
    """Inside a rank: x [samples, channels] less the mean and divided by the deviation of all ranks' samples together."""
    return _Synchronised.apply(x, group, eps)


def normed(training: Training, together: bool = True) -> Trained:
    """Inside a rank: data parallel of a Normed. together False: each rank's batch norm looks at its own samples only."""
    rank, nranks = dist.get_rank(), dist.get_world_size()
    kind = training.model.kind
    group = dist.group.WORLD if together and kind == "batch" else None
    model = Normed(training.model.layers, training.model.width, kind, group)
    params, losses = training.params(), []
    optimizer = training.make_optimizer(params.values())
    with watched(model, params, optimizer) as watch:
        for step in range(training.steps):
            x, y = share(training.data(step), rank, nranks)
            loss = model.loss(model.forward(params, x), y)
            loss.backward()
            for p in params.values():
                dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
            watch.after_backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.detach().double())
    total = torch.stack(losses)
    dist.all_reduce(total)
    return watch.trained((total / nranks).tolist(), params)


def predicted(training: Training, nranks: int, rank: int = 0) -> Predicted:
    """Data parallel's 2N(P-1)/P for gradients, and per batch norm (P-1)(2C + 1) numbers forward, 4C(P-1)/P backward."""
    model, steps, size = training.model, training.steps, training.itemsize
    if not isinstance(model, Normed):
        raise ValueError(f"norms are those of a Normed, got {type(model).__name__}")
    divides(nranks, "ranks", training.batch, "batch")
    norms = (model.layers - 1) * (model.kind == "batch")
    twice, n = Fraction(2 * (nranks - 1), nranks), model.nparams * size
    calls = {"all_gather": norms * steps, "all_reduce": (norms + len(model.shapes)) * steps}
    told = (nranks - 1) * (2 * model.width + 1) * size
    sent = {
        "all_gather": norms * steps * told,
        "all_reduce": twice * steps * (n + norms * 2 * model.width * size),
    }
    return Predicted(calls, sent, states(training, model.nparams, len(model.shapes)))


def _strategy(kind: str, name: str) -> Strategy:
    return Strategy(name, normed, predicted, Training(Normed(kind=kind)))


STRATEGIES = (_strategy("batch", "norms, batch norm in step"), _strategy("layer", "norms, layer norm"))
