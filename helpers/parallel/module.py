"""The same model as torch's own wrappers want it: an nn.Module that holds the parameters, layer by layer. Chapter: sharded."""

from __future__ import annotations

from torch import Tensor, nn

from .model import Model, Params


class Layer(nn.Module):
    """Layer i of a model with the parameters that are given, by their short names: "weight" for "3.weight"."""

    def __init__(self, model: Model, i: int, params: Params):
        super().__init__()
        self.model, self.i = model, i
        for name, p in params.items():
            if name.startswith(f"{i}."):
                self.register_parameter(name.partition(".")[2], p)

    def forward(self, x: Tensor) -> Tensor:
        """What is registered now: FSDP2 puts whole parameters in the place of its shards."""
        own = {f"{self.i}.{name}": p for name, p in self.named_parameters(recurse=False)}
        return self.model.layer(self.i, own, x)


class Module(nn.Module):
    """The layers of `params` in their order: whole or sliced, all layers or some. The parameters are the very tensors given."""

    def __init__(self, model: Model, params: Params):
        super().__init__()
        here = sorted({int(name.partition(".")[0]) for name in params})
        self.layers = nn.ModuleList(Layer(model, i, params) for i in here)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x

    def by_name(self) -> Params:
        """The parameters by their names in the model: what is registered now."""
        return {f"{layer.i}.{name}": p for layer in self.layers for name, p in layer.named_parameters(recurse=False)}
