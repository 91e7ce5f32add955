"""What a module under fully_shard can be asked, on paper: a head keeps its table while the loss is computed in pieces. Chapter: too-big."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .unit import Unit


class AsModule:
    """The methods of torch's FSDPModule that a loss in pieces calls, for the unit of a module."""

    def __init__(self, unit: Unit):
        self.unit = unit

    def set_reshard_after_forward(self, reshard: bool) -> None:
        """May the whole parameters go after forward?"""
        self.unit.reshard = reshard

    def set_reshard_after_backward(self, reshard: bool) -> None:
        """And after backward?"""
        self.unit.frees = reshard

    def set_requires_gradient_sync(self, sync: bool, *, recurse: bool) -> None:
        """Are gradients reduced after backward, or do they wait whole?"""
        self.unit.reduces = sync

    def unshard(self) -> None:
        """Gather the whole parameters, outside of any forward."""
        self.unit.gather(forward=self.unit.state == "forward")

    def reshard(self) -> None:
        """Free them, unless a forward goes on that keeps them."""
        if self.unit.reshard or self.unit.state != "forward":
            self.unit.free()


METHODS = [name for name in vars(AsModule) if not name.startswith("_")]


def as_fsdp_module(unit: Unit) -> None:
    """Give the unit's modules those methods, as fully_shard makes FSDPModules of them."""
    asked = AsModule(unit)
    for module in unit.modules:
        for name in METHODS:
            setattr(module, name, getattr(asked, name))
