"""Which modules travel together. Chapter: too-big."""

from __future__ import annotations

from collections.abc import Iterable

from torch import nn

from helpers.parallel.zero.training import blocks


def units(model: nn.Module) -> Iterable[tuple[list[nn.Module], bool]]:
    """(modules, may they reshard after forward) of every unit but the root.

    Of a transformer from here as torchtitan has it (distributed/fsdp.py at b5bcd76): the embedding, each block, and norm and head
    together, which backward wants at once; with tied weights the embedding is among those. Of any other module its blocks. Experts that are
    elsewhere stay in their block's unit, as a group of their own among the ranks that have them.
    """
    if not all(hasattr(model, name) for name in ("embedding", "layers", "norm", "head")):
        return [([block], True) for block in blocks(model)]
    ends = [module for module in (model.norm, model.head) if module is not None]
    first = [module for module in (model.embedding,) if module is not None]
    tied = first and ends and model.head.weight is model.embedding.weight
    found = [(first + ends, False)] if tied else [(first, True), (ends, False)]
    return [unit for unit in (*found, *(([layer], True) for layer in model.layers)) if unit[0]]


def in_order(model: nn.Module) -> list[nn.Module]:
    """Of a transformer from here a module of each unit, in forward's order."""
    return [module for module in (model.embedding, *model.layers, model.head) if module is not None]


def parameters(modules: Iterable[nn.Module]) -> Iterable[nn.Parameter]:
    """In fully_shard's order: a module's children first, then its own."""
    for module in modules:
        yield from parameters(module.children())
        yield from module.parameters(recurse=False)
