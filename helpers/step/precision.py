"""In which types a step computes, keeps its gradients and updates: fp32, 16-bit weights with and without an fp32 copy, autocast.

    fp32            4 bytes each for weights, gradients, m, v: 16 a parameter with Adam
    bf16            2 + 2 for weights and gradients, 4 + 4 + 4 for the fp32 copy, m, v: 16
    bf16-fp32grads  the same with gradients added up in fp32 buffers that stay, as Megatron-LM does: 18
    bf16-true       everything in bf16, the moments too, torch's own optimizer on the weights: 8; small updates round to nothing
    autocast        fp32 everything; matrix multiplications on bf16 copies of their weights, which live from forward to backward
    fsdp2           fp32 shards of everything, computed in bf16 and reduced in fp32 (torchtitan); with ZeRO-2 or -3 only.
                    fsdp2-bf16-reduce: reduced in bf16, too; fsdp2-fp32: fp32 throughout, torch's default without a policy

Chapters: training-memory, too-big.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.adamw import adamw
from torch.optim.sgd import sgd

PRECISIONS = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "bf16-fp32grads": torch.bfloat16,
    "bf16-true": torch.bfloat16,
    "autocast": torch.float32,
}


@dataclass(frozen=True)
class Policy:
    """FSDP2's MixedPrecisionPolicy over fp32 shards. compute: the type that is gathered; reduce: of the reduction, None for the same."""

    compute: torch.dtype = torch.bfloat16
    reduce: torch.dtype | None = None


FSDP2 = {
    "fsdp2": Policy(reduce=torch.float32),
    "fsdp2-bf16-reduce": Policy(),
    "fsdp2-fp32": Policy(torch.float32),
}
MASTERED = ("bf16", "bf16-fp32grads")  # the optimizer works on an fp32 copy
OPTIMIZERS = ("sgd", "momentum", "adam", "adamw", "adamw-foreach", "adamw-fused")
LR = 1e-3
ADAM = {
    "amsgrad": False,
    "beta1": 0.9,
    "beta2": 0.999,
    "lr": LR,
    "weight_decay": 0.01,
    "eps": 1e-8,
    "maximize": False,
}
MOMENTUM = {"sgd": 0.0, "momentum": 0.9}
SGD = {
    "weight_decay": 0.0,
    "lr": LR,
    "dampening": 0.0,
    "nesterov": False,
    "maximize": False,
}


def computes(precision: str) -> torch.dtype:
    """The type that a model is built in. ValueError for an unknown precision."""
    known = PRECISIONS | {name: policy.compute for name, policy in FSDP2.items()}
    if precision not in known:
        raise ValueError(f"precision is one of {', '.join(known)}, got {precision!r}")
    return known[precision]


def optimizer(name: str, params: Iterable[nn.Parameter], precision: str) -> Optimizer:
    """The optimizer of that name: torch's own on the weights, or MasterWeights on their fp32 copy. ValueError for unknown names."""
    if name not in OPTIMIZERS:
        raise ValueError(f"optimizer is one of {', '.join(OPTIMIZERS)}, got {name!r}")
    computes(precision)
    if precision in MASTERED:
        return MasterWeights(params, name, main_grads=precision == "bf16-fp32grads")
    how = {"fused": True} if name == "adamw-fused" else {"foreach": name == "adamw-foreach"}
    made = {"sgd": torch.optim.SGD, "momentum": torch.optim.SGD, "adam": torch.optim.Adam}.get(name, torch.optim.AdamW)
    how |= {"momentum": MOMENTUM[name]} if name in MOMENTUM else {}
    return made(list(params), lr=LR, **how)


MOMENTS = {True: ("momentum_buffer",), False: ("exp_avg", "exp_avg_sq")}  # by whether it is SGD


class MasterWeights(Optimizer):
    """16-bit weights, and an fp32 copy of them that torch's optimizer works on; the weights are rounded from it after each step.

    A parameter at a time (for-loop): its gradient is widened, used and dropped. foreach: all gradients are widened first, 4 bytes a
    parameter more. fused: one kernel reads 16-bit gradients and writes both, as Transformer Engine's FusedAdam(master_weights=True).
    main_grads: gradients are added up in fp32 as backward makes them (Megatron-LM's main_grad), so none is widened here.
    """

    def __init__(self, params: Iterable[nn.Parameter], name: str, main_grads: bool = False):
        super().__init__([p for p in params if p.requires_grad], {})  # what is frozen needs no copy
        self.name = name
        self.masters = {p: p.detach().float() for p in self._params()}
        self.main_grads = {p: torch.zeros_like(self.masters[p]) for p in self._params()} if main_grads else {}
        for p in self.main_grads:
            p.register_post_accumulate_grad_hook(self._accumulate)

    def _params(self) -> list[nn.Parameter]:
        return [p for group in self.param_groups for p in group["params"]]

    def _accumulate(self, p: nn.Parameter) -> None:
        self.main_grads[p].add_(p.grad)
        p.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Update every parameter that has a gradient."""
        params = [p for p in self._params() if p in self.main_grads or p.grad is not None]
        for p in params if self.name != "sgd" else ():
            if not self.state[p]:
                self._make_state(p)
        if self.name == "adamw-fused" and all(p.is_meta for p in params):
            return
        for some in [params] if self.name == "adamw-foreach" else [[p] for p in params]:
            self._update(some)

    def _make_state(self, p: nn.Parameter) -> None:
        """In the first step and one after the other, as torch's optimizers do."""
        if self.name not in MOMENTUM:
            self.state[p]["step"] = torch.tensor(0.0)
        for key in MOMENTS[self.name in MOMENTUM]:
            self.state[p][key] = torch.zeros_like(self.masters[p])

    def _update(self, params: list[nn.Parameter]) -> None:
        masters = [self.masters[p] for p in params]
        grads = [self.main_grads[p] if p in self.main_grads else p.grad.float() for p in params]
        how = {"fused": self.name == "adamw-fused", "foreach": self.name == "adamw-foreach"}
        if self.name in MOMENTUM:
            kept = [self.state[p].get("momentum_buffer") for p in params]
            sgd(masters, grads, kept, foreach=False, momentum=MOMENTUM[self.name], **SGD)
        else:
            moments = ([self.state[p][key] for p in params] for key in MOMENTS[False])
            steps = [self.state[p]["step"] for p in params]
            adamw(masters, grads, *moments, [], steps, **how, **ADAM)
        torch._foreach_copy_(params, masters)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients; fp32 buffers stay and become zero."""
        super().zero_grad(set_to_none)
        for grad in self.main_grads.values():
            grad.zero_()
