"""torch's own FSDP2 on ranks that are not there: fully_shard on meta tensors, whose collectives nobody answers.

What is gathered, reduced and freed, and when, is decided by the torch that is installed; here stands only what a trainer says to it, as
torchtitan does (distributed/fsdp.py at b5bcd76). In a pipeline torch's stages (torch.distributed.pipelining) say it. Chapters: sharded,
too-big.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING

import torch
from torch import nn

from helpers.memory.sharding import Sharding, ShardingError
from helpers.parallel.zero.training import blocks
from helpers.parallel.zero.watched import fsdp_params
from helpers.patches import FAKE_RANKS
from helpers.step.precision import Policy

from .part import Elsewhere

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh


class _Stream(torch.cpu.Stream):
    """Nothing runs on it, and what it is asked for later is there. Its numbers are asked for from torch 2.15 on."""

    stream_id = device_index = device_type = 0

    def record_event(self) -> torch.cpu.Event:
        return torch.cpu.Event()


HANDLE = SimpleNamespace(
    **{name: getattr(torch.cpu, name) for name in torch.cpu.__all__} | {"Stream": _Stream, "current_stream": _Stream}
)


@contextmanager
def fake_ranks(count: int) -> Iterator[None]:
    """Inside, this process is rank 0 of so many, and FSDP2 takes meta tensors for those of a device.

    ShardingError in a process that is one of several ranks already.
    """
    import torch.distributed as dist
    from torch.distributed.fsdp._fully_shard import _fsdp_collectives, _fsdp_param_group, _fsdp_state
    from torch.distributed.fsdp._fully_shard import _fully_shard as home
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if dist.is_initialized():
        raise ShardingError(
            f"FSDP2 is predicted in a process of its own, and this is rank {dist.get_rank()} of {dist.get_world_size()}"
        )
    dist.init_process_group("fake", rank=0, world_size=count, store=FakeStore())
    with ExitStack() as stack:
        stack.callback(dist.destroy_process_group)
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", "FSDP2-wrapped module")  # a view that nobody writes to
        for module in (_fsdp_collectives, _fsdp_param_group, _fsdp_state):
            stack.enter_context(FAKE_RANKS.during(module, "_get_device_handle", lambda _kind: HANDLE))
        stack.enter_context(FAKE_RANKS.during(home, "_get_device_from_mesh", lambda _mesh: torch.device("meta")))
        stack.enter_context(FAKE_RANKS.during(torch.accelerator, "current_stream", lambda _device=None: _Stream()))
        group = _fsdp_param_group.FSDPParamGroup
        stack.enter_context(FAKE_RANKS.during(group, "_validate_no_meta_params", lambda _group: None))
        yield


def mesh_of(sharding: Sharding) -> DeviceMesh:
    """Of the data ranks: shards, with teams ("replicate", "shard"), with experts elsewhere ("alike", "spread")."""
    from torch.distributed.device_mesh import init_device_mesh

    shape, names = (sharding.shards,), ("shard",)
    if sharding.team:
        shape, names = (sharding.replicas, sharding.shards), ("replicate", "shard")
    elif sharding.expert > 1:
        shape, names = (sharding.data // sharding.expert, sharding.expert), ("alike", "spread")
    return init_device_mesh("cpu", shape, mesh_dim_names=names)


def fully_shard(model: nn.Module, policy: Policy, sharding: Sharding, mesh: DeviceMesh) -> None:
    """Share a model's parameters out among the mesh's ranks, in place, as fp32 shards; mesh: as mesh_of's.

    zero=3 reshards every unit after forward but the root and the last, which torchtitan keeps; in a pipeline zero=2 is torchtitan's
    default and zero=3 its "always", under which norm and head are freed, too. ShardingError for a parameter that has no dimension.
    """
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    for p in model.parameters():
        if not p.dim():
            raise ShardingError("FSDP2 cuts along the first dimension, and a parameter here is a single number")
        p.data = p.data.float()
    if sharding.pipeline > 1:
        importlib.import_module("torch.distributed.pipelining")  # makes a tensor, which is none of the step's
    of_blocks = {}
    if sharding.expert > 1:
        alike, mesh = mesh["alike"], mesh._flatten("data")
        of_blocks = _experts_apart(model, alike, mesh)
    mixed = MixedPrecisionPolicy(policy.compute, policy.reduce, cast_forward_inputs=False)
    how = {"mesh": mesh, "mp_policy": mixed}
    for modules, may in units(model):
        again = (may or sharding.pipeline > 1) and sharding.zero == 3
        more = of_blocks if modules[0] in {*blocks(model)} else {}
        fully_shard(modules if len(modules) > 1 else modules[0], reshard_after_forward=again, **how, **more)
    fully_shard(model, **how)
    if of_blocks:
        _ask_by_name(model)


def _experts_apart(model: nn.Module, alike: DeviceMesh, everybody: DeviceMesh) -> dict[str, Callable]:
    """Experts that are elsewhere are a group of their own in their block's unit, among the ranks that have the same ones."""
    try:
        from torch.distributed.fsdp._fully_shard._fsdp_common import ShardPlacementResult
        from torch.distributed.fsdp._fully_shard._fsdp_init import _get_mesh_info
    except ImportError:
        raise ShardingError(f"FSDP2 with experts elsewhere is torch's from 2.12 on, got {torch.__version__}") from None
    from torch.distributed.tensor import Shard

    theirs = {p for one in model.modules() if isinstance(one, Elsewhere) for p in one.parameters()}
    few, all_of_them = _get_mesh_info(alike, None), _get_mesh_info(everybody, None)
    return {"shard_placement_fn": lambda p: ShardPlacementResult(Shard(0), few if p in theirs else all_of_them)}


def _ask_by_name(model: nn.Module) -> None:
    """Units are asked for one ahead; what is reduced is a sum, of which torchtitan's loss knows the divisor."""
    in_order = [module for module in (model.embedding, *model.layers, model.head) if module is not None]
    for one, after in pairwise(in_order):
        one.set_modules_to_forward_prefetch([after])
        after.set_modules_to_backward_prefetch([one])
    for module in sharded(model):
        module.set_gradient_divide_factor(1.0)


def units(model: nn.Module) -> Iterable[tuple[list[nn.Module], bool]]:
    """(modules, may they reshard after forward) of every unit but the root.

    Of a transformer from here as torchtitan has it: the embedding, each block, and norm and head together, which backward wants at once;
    with tied weights the embedding is among those. Of any other module its blocks.
    """
    if not all(hasattr(model, name) for name in ("embedding", "layers", "norm", "head")):
        return [([block], True) for block in blocks(model)]
    ends = [module for module in (model.norm, model.head) if module is not None]
    first = [module for module in (model.embedding,) if module is not None]
    tied = first and ends and model.head.weight is model.embedding.weight
    found = [(first + ends, False)] if tied else [(first, True), (ends, False)]
    return [unit for unit in (*found, *(([layer], True) for layer in model.layers)) if unit[0]]


def sharded(model: nn.Module) -> list[nn.Module]:
    """The modules that fully_shard was called with."""
    from torch.distributed.fsdp import FSDPModule

    return [module for module in model.modules() if isinstance(module, FSDPModule)]


def shards(model: nn.Module) -> list[nn.Parameter]:
    """What the optimizer works on, plain tensors: DTensor's own way to an operator makes tensors of whole sizes that no GPU sees.

    What FSDP2 makes in its first step is made here.
    """
    for module in sharded(model):
        module.unshard()
        module.reshard()
    return [nn.Parameter(p.detach().to_local(), p.requires_grad) for p in model.parameters()]


def tell(model: nn.Module, seen: Callable[[object, str], object]) -> None:
    """Tell who watches what each buffer is for, those of now and those to come."""
    for one in fsdp_params(model):
        seen({one._module_info.param_name: one.all_gather_outputs}, "communication")
        if one.unsharded_param.requires_grad:
            one.unsharded_param.register_post_accumulate_grad_hook(lambda p: seen(p.grad, "gradient"))
        if widen := getattr(
            one, "to_accumulated_grad_if_needed", None
        ):  # from 2.15 on autograd itself adds up in the type of reducing
            FAKE_RANKS.put(one, "to_accumulated_grad_if_needed", partial(_widened, one, widen, seen))


def _widened(one: object, widen: Callable, seen: Callable) -> None:
    """A gradient that is added up whole may get another type, and so another tensor."""
    widen()
    seen(one.unsharded_accumulated_grad, "gradient")
