"""FLOPs of the small transformer, counted while it trains: what `helpers.ledger.flops` says on paper.

torch's FlopCounterMode knows matrix products and, of attention, the kernels of GPUs. Attention's kernel for CPUs is among them from torch
2.15 on; before, it counts a step there without its scores (torch/utils/flop_counter.py). `Counter` has its formulas, and these two.

"math"     attention as products that are counted one by one: every query with every key, four products in backward
"flash"    the fused kernel, counted by torch's own formula: every pair again, and Q K^T once more in backward
"causal"   each query with its own past only, as a loop: what a causal model needs at least
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, sdpa_backward_flop_count, sdpa_flop_count

from helpers.parallel.model import Params, Transformer
from helpers.parallel.reference import Training
from helpers.parallel.tensor.recompute import recomputed

_CPU = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_CPU_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


class Counter(TorchDispatchMode):
    """Adds up torch's own formulas (flop_registry) for every operator that has one, and those of attention on a CPU."""

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False: the wrapper that torch adds otherwise, FlopCounterMode's too, imports its compiler at the first operator."""
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        packet = func._overloadpacket
        if packet in flop_registry:
            self.total += flop_registry[packet](*args, **(kwargs or {}), out_val=out)
        elif packet is _CPU:
            self.total += sdpa_flop_count(*_with_heads(args[0], args[:3]))
        elif packet is _CPU_BACKWARD:
            self.total += sdpa_backward_flop_count(*_with_heads(args[1], args[:4]))
        return out


def _with_heads(query: Tensor, tensors: tuple[Tensor, ...]) -> list[tuple[int, ...]]:
    """Shapes with as many heads as there are queries: torch 2.11's formulas know no others."""
    return [(one.shape[0], query.shape[1], *one.shape[2:]) for one in tensors]


class Causal(Transformer):
    """The same model, whose queries meet the keys of their own past and no others: one product a query."""

    def attended(self, own: Params, x: Tensor) -> Tensor:
        q, k, v = (
            torch.nn.functional.linear(x, own[n]).unflatten(-1, (-1, self.head_width)).transpose(1, 2) for n in "qkv"
        )
        k, v = (one.repeat_interleave(q.shape[1] // one.shape[1], 1) for one in (k, v))
        rows = [_one(q[:, :, i : i + 1], k[:, :, : i + 1], v[:, :, : i + 1]) for i in range(x.shape[1])]
        return torch.cat(rows, 2).transpose(1, 2).flatten(2)


def _one(q: Tensor, past: Tensor, values: Tensor) -> Tensor:
    """A query with its past: [batch, heads, 1, head_width]."""
    scores = q @ past.transpose(-1, -2) / q.shape[-1] ** 0.5
    return scores.softmax(-1) @ values


def counted_flops(training: Training, kernel: str = "math", checkpoint: str = "none") -> tuple[int, float]:
    """(FLOPs, the loss) of one step's forward and backward in this process alone, of a Transformer.

    checkpoint: "full" computes each block again in its backward.
    """
    model = Causal(**asdict(training.model)) if kernel == "causal" else training.model
    params, (x, y) = training.params(), training.data(0)
    with _counter(kernel) as counter:
        loss = model.loss(_forward(model, params, x, checkpoint == "full"), y)
        loss.backward()
    return counter.total, loss.item()


@contextmanager
def _counter(kernel: str) -> Iterator[Counter]:
    backend = SDPBackend.FLASH_ATTENTION if kernel == "flash" else SDPBackend.MATH
    with sdpa_kernel(backend), Counter() as counter:
        yield counter


def _forward(model: Transformer, params: Params, x: Tensor, again: bool) -> Tensor:
    """The model's forward; again: each block keeps its input alone."""
    for i in range(model.depth):
        own = {name: params[name] for name in model.names(i)}
        inside = again and 0 < i < model.depth - 1
        x = recomputed(_layer(model, i), own, x) if inside else model.layer(i, own, x)
    return x


def _layer(model: Transformer, i: int):
    return lambda own, x: model.layer(i, own, x)
