"""Activation checkpointing: what is thrown away in forward and computed again in backward.

"full": every block keeps its input only. "selective": attention's core is computed again (Korthikanti et al. 2022, section 5), all else
is kept; flash attention already does that inside its kernel. "matmuls": torch's policy, which keeps what matrix multiplications
gave and computes the rest again. "per-op": torchtitan's SelectiveAC (distributed/activation_checkpoint.py at b5bcd76), which keeps what
costly operators and collectives gave, but of the matrix products only every second one. Chapters: training-memory, too-big.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial

import torch
from torch import nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

CHECKPOINTS = ("none", "selective", "matmuls", "per-op", "full")
aten = torch.ops.aten
# What torch's own examples list: expensive to compute again for their bytes.
COSTLY = {
    aten.mm.default,
    aten.addmm.default,
    aten.bmm.default,
    aten._scaled_dot_product_flash_attention.default,
    aten._scaled_dot_product_efficient_attention.default,
}
# torchtitan's, as far as an operator here can be one of them: its list begins with what torch's partitioner calls compute-intensive.
PER_OP = COSTLY | {
    aten.convolution.default,
    aten._scaled_mm.default,
    aten._scaled_dot_product_cudnn_attention.default,
    aten.max.default,
    aten.topk.default,
    "_c10d_functional::reduce_scatter_tensor",
    "_c10d_functional::all_to_all_single",
}
Policy = Callable[..., CheckpointPolicy]


def recompute(
    around: Callable[[], AbstractContextManager] = nullcontext,
    policy: Callable[[], Policy] | None = None,
    early_stop: bool = True,
) -> Callable:
    """torch's checkpoint, to be called with (function, *args). around: a context for the second time.

    policy: makes, for each call, what says which results are kept after all. early_stop: a recomputation ends with the last tensor that
    backward asks for.
    """

    def contexts() -> tuple[AbstractContextManager, AbstractContextManager]:
        first, second = create_selective_checkpoint_contexts(policy()) if policy else (nullcontext(), nullcontext())
        return first, _both(around(), second)

    plain = getattr(checkpoint, "__wrapped__", checkpoint)  # the wrapper imports torch's compiler
    said = {"use_reentrant": False, "context_fn": contexts, "early_stop": early_stop}
    if (
        policy and "respect_saved_tensors_hooks" in inspect.signature(plain).parameters
    ):  # torch 2.14 warns of a change where it is not said
        said["respect_saved_tensors_hooks"] = False
    return partial(plain, **said)


def apply(model: nn.Module, kind: str, around: Callable[[], AbstractContextManager] = nullcontext) -> nn.Module:
    """Make the model compute again in backward, in place. ValueError for an unknown kind, or where there is nothing to wrap.

    "full", "matmuls" and "per-op" wrap the members of every outermost nn.ModuleList; "selective" every module that has a `core`.
    around: a context for what is computed again (autocast).
    """
    if kind not in CHECKPOINTS:
        raise ValueError(f"checkpoint is one of {', '.join(CHECKPOINTS)}, got {kind!r}")
    if kind == "none":
        return model
    wrapped = _cores(model) if kind == "selective" else blocks(model)
    if not wrapped:
        wants = "modules with a method core(q, k, v)" if kind == "selective" else "blocks in an nn.ModuleList"
        raise ValueError(f"checkpoint={kind!r} wants {wants}, and {type(model).__name__} has none")
    for module in wrapped:
        name = "core" if kind == "selective" else "forward"
        setattr(module, name, partial(_again(kind, module, around), getattr(module, name)))
    return model


def _again(kind: str, module: nn.Module, around: Callable[[], AbstractContextManager]) -> Callable:
    if kind == "per-op":
        routers = {tuple(m.weight.t().shape) for name, m in module.named_modules() if name.endswith("router")}
        return recompute(around, lambda: every_second(routers), early_stop=False)
    return recompute(around, (lambda: _policy) if kind == "matmuls" else None)


def every_second(routers: set[tuple[int, ...]]) -> Policy:
    """torchtitan's policy for one call of one block. routers: shapes of a right factor whose products are not counted and not kept."""
    seen: Counter[bool] = Counter()

    def policy(context, op, *args, **_options) -> CheckpointPolicy:
        if op == aten.mm.default:
            if tuple(args[1].shape) in routers:
                return CheckpointPolicy.PREFER_RECOMPUTE
            seen[context.is_recompute] += 1
            if seen[context.is_recompute] % 2 == 0:
                return CheckpointPolicy.PREFER_RECOMPUTE
        kept = op in PER_OP or op._schema.name in PER_OP
        return CheckpointPolicy.MUST_SAVE if kept else CheckpointPolicy.PREFER_RECOMPUTE

    return policy


@contextmanager
def _both(outer: AbstractContextManager, inner: AbstractContextManager) -> Iterator[None]:
    with outer, inner:
        yield


@cache
def once_before() -> None:
    """One checkpoint, thrown away: the first one of a process holds its inputs a few operators longer than all that follow."""
    x = torch.ones(1, device="meta", requires_grad=True)
    recompute()(lambda y: (y * y) * y, x).sum().backward()


def blocks(model: nn.Module) -> list[nn.Module]:
    """The members of the outermost ModuleLists: a transformer's layers, but not the experts inside them."""
    if isinstance(model, nn.ModuleList):
        return list(model)
    return [block for child in model.children() for block in blocks(child)]


def _cores(model: nn.Module) -> list[nn.Module]:
    return [module for module in model.modules() if callable(getattr(module, "core", None))]


def _policy(_context: object, op: object, *_args: object, **_options: object) -> CheckpointPolicy:
    return CheckpointPolicy.MUST_SAVE if op in COSTLY else CheckpointPolicy.PREFER_RECOMPUTE
