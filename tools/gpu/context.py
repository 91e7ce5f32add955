"""Context parallel: ring attention in zigzag beside torch's own `context_parallel`, which has no kernel for a CPU."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from helpers.context import positions
from helpers.parallel.context import ring

from .place import Place

SIZE = (2, 4, 64)  # samples, heads, numbers of a head
TOKENS = 128  # of a rank
NEAR = 2e-2  # of the largest number: bf16 has eight bits of mantissa, and ours computes in fp32
LIMIT = 60.0
# Whole q, k, v and weights -> this rank's output and gradients
Attention = Callable[[list[Tensor], Tensor], list[Tensor]]


def beside(place: Place) -> dict:
    """Outputs and gradients of q, k and v on every rank, each against ours, as a part of its largest number."""
    with place.ranks() as ranks:
        found = ranks.run(apart, by_torch, limit=LIMIT)
    far = {name: max(one[name] for one in found) for name in found[0]}
    assert max(far.values()) < NEAR, f"from torch's context_parallel: {far}"
    record = {"nranks": place.nranks, "tokens": TOKENS * place.nranks, "far": far}
    return {name: f"{one:.1e}" for name, one in far.items()} | {"record": {"parallel-context": record}}


def apart(theirs: Attention) -> dict[str, float]:
    """Inside a rank: how far `theirs` is from ours, by name."""
    made, seq = torch.Generator("cpu").manual_seed(0), TOKENS * dist.get_world_size()
    size = (*SIZE[:2], seq, SIZE[2])
    *whole, weight = (
        torch.randn(size, generator=made, device="cpu").to(torch.get_default_device(), torch.bfloat16) for _ in range(4)
    )
    both = zip(by_ring(whole, weight), theirs(whole, weight), strict=True)
    names = ("output", "gradient of q", "gradient of k", "gradient of v")
    pairs = {name: (mine.double(), other.double()) for name, (mine, other) in zip(names, both, strict=True)}
    return {name: ((a - b).abs().max() / a.abs().max()).item() for name, (a, b) in pairs.items()}


def mine(seq: int) -> Tensor:
    """The positions of this rank's tokens, in zigzag."""
    return torch.tensor(positions("zigzag", seq, dist.get_world_size(), dist.get_rank()))


def by_ring(whole: list[Tensor], weight: Tensor) -> list[Tensor]:
    """Ours, in fp32."""
    seq = weight.shape[2]
    own = [one[:, :, mine(seq)].float().requires_grad_() for one in whole]
    out = ring.attended(*own, "zigzag", seq, dist.group.WORLD)
    (out * weight[:, :, mine(seq)]).sum().backward()
    return [out.detach(), *(one.grad for one in own)]


def by_torch(whole: list[Tensor], weight: Tensor) -> list[Tensor]:
    """torch's, with flash attention; it cuts the buffers in place, head and tail to one rank as zigzag does."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.experimental import context_parallel
    from torch.nn.attention import SDPBackend, sdpa_kernel

    mesh = init_device_mesh(torch.get_default_device().type, (dist.get_world_size(),))
    buffers = [one.clone() for one in (*whole, weight)]
    cut = context_parallel(mesh, buffers=buffers, buffer_seq_dims=[2] * 4, no_restore_buffers=set(buffers))
    with cut, sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        own = [one.detach().requires_grad_() for one in buffers[:3]]
        out = F.scaled_dot_product_attention(*own, is_causal=True)
        (out * buffers[3]).sum().backward()
    return [out.detach(), *(one.grad for one in own)]
