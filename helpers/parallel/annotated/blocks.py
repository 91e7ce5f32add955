"""Residual blocks as a transformer has them, x + down(gelu(up(norm(x)))), as DTensors: what is summed where nobody says how outputs lie.

The matrices of each pair are cut as in the layout "pairs". Without a word on its output, the second product of a pair is a sum that
stays open: a `Partial`. Adding x keeps it open, so every norm and every later pair reads an open sum, and each reader closes it for
itself; what backward has kept is open, too, and is closed anew there. In backward the same happens to the gradient of x, until somebody
says that what enters a pair is whole, too. Chapter: annotations.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from helpers.parallel.checks import divides, whole
from helpers.parallel.counting import Moved, counted

from .by_dtensor import quiet

# A matrix is half as large as the activations; in the MLP of Llama-3-70B, with 65,536 tokens, 0.44 times
WIDTH, BATCH = 16, 64
SAYS = ("matrices", "outputs", "both")


def nbytes() -> int:
    """Of the activations between two pairs: a tensor [BATCH, WIDTH] of float64."""
    return BATCH * WIDTH * torch.float64.itemsize


def pairs(npairs: int, said: str = "matrices") -> tuple[Moved, float]:
    """Inside a rank: forward and backward of `npairs` blocks and a norm; what moved, and the loss.

    said: of the "matrices" alone; of pairs' "outputs", too: whole on every rank; of "both" ends of a pair, as torch's ColwiseParallel
    and RowwiseParallel do. ValueError for another word, and for ranks that do not divide the width.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    whole("pairs", npairs)
    if said not in SAYS:
        raise ValueError(f"said of one of {', '.join(SAYS)}, got {said!r}")
    nranks, device = dist.get_world_size(), torch.get_default_device().type
    divides(nranks, "tensor ranks", 2 * WIDTH, "width")
    mesh = init_device_mesh(device, (nranks,), mesh_dim_names=("tensor",))

    def lies(one: Tensor, placement: Any) -> Any:
        return torch.nn.Parameter(distribute_tensor(one, mesh, [placement], src_data_rank=None))

    every = drawn(npairs, device)
    x, y = (lies(one, Replicate()).detach() for one in every[:2])
    ups = [lies(one, Shard(0)) for one in every[2::2]]
    downs = [lies(one, Shard(1)) for one in every[3::2]]
    gains = [lies(torch.ones(WIDTH, dtype=torch.float64, device=device), Replicate()) for _ in range(npairs + 1)]

    def says(one: Any, where: str) -> Any:
        return one.redistribute(placements=[Replicate()]) if said in (where, "both") else one

    with counted() as moved, quiet():
        for up, down, gain in zip(ups, downs, gains, strict=False):
            entered = says(F.rms_norm(x, (WIDTH,), gain), "inputs")
            x = x + says(F.linear(F.gelu(F.linear(entered, up)), down), "outputs")
        loss = (F.rms_norm(x, (WIDTH,), gains[-1]) - y).square().mean()
        loss.backward()
    return moved, loss.full_tensor().item()


def alone(npairs: int) -> float:
    """The loss that one process has."""
    x, y, *matrices = drawn(npairs, "cpu")
    for up, down in zip(matrices[::2], matrices[1::2], strict=True):
        x = x + F.linear(F.gelu(F.linear(F.rms_norm(x, (WIDTH,)), up)), down)
    return (F.rms_norm(x, (WIDTH,)) - y).square().mean().item()


def drawn(npairs: int, device: str) -> list[Tensor]:
    """x, y, and of each pair `up` [2 WIDTH, WIDTH] and `down`; the same on every rank."""
    seeded = torch.Generator("cpu").manual_seed(0)
    shapes = [(BATCH, WIDTH)] * 2 + [(2 * WIDTH, WIDTH), (WIDTH, 2 * WIDTH)] * npairs
    return [torch.randn(s, generator=seeded, dtype=torch.float64, device="cpu").to(device) / 4 for s in shapes]
