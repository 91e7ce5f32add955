"""What torch's distributed checkpoint is told of our state: where a part lies, and to load all of it or nothing. Chapter: sharded."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.distributed.checkpoint import DefaultLoadPlanner, DefaultSavePlanner, Metadata
from torch.distributed.checkpoint.metadata import MetadataIndex
from torch.distributed.tensor import DTensor

from .pieces import Pieces

State = dict[str, Tensor | Pieces]  # by name; every tensor is the one that is trained, or a view of it


def here(state: State, index: MetadataIndex) -> Tensor:
    """This rank's part of a tensor."""
    one = state[index.fqn]
    if isinstance(one, Pieces):
        return one.at(index)
    return one.to_local() if isinstance(one, DTensor) else one


class SavePlanner(DefaultSavePlanner):
    """torch's, which also finds our pieces. What several ranks have is written by one of them: the one with least to write so far."""

    def __init__(self) -> None:
        super().__init__(flatten_state_dict=False, flatten_sharded_tensors=False)

    def lookup_object(self, index: MetadataIndex) -> Tensor:
        return here(self.state_dict, index)


class LoadPlanner(DefaultLoadPlanner):
    """Reads into memory of its own, on the CPU, and `put` brings it into the state: a file that fails half-way changes nothing."""

    def __init__(self) -> None:
        super().__init__(flatten_state_dict=False, flatten_sharded_tensors=False)
        self.read: dict[MetadataIndex, Tensor] = {}

    def set_up_planner(self, state_dict: State, metadata: Metadata | None = None, is_coordinator: bool = False) -> None:
        """torch's own drops here what is no tensor."""
        self.state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator

    def lookup_tensor(self, index: MetadataIndex) -> Tensor:
        if index not in self.read:
            self.read[index] = torch.empty_like(here(self.state_dict, index), device="cpu", requires_grad=False)
        return self.read[index]

    @torch.no_grad()
    def put(self) -> None:
        """When every rank has read all of its parts."""
        for index, values in self.read.items():
            here(self.state_dict, index).copy_(values)


def nbytes(state: dict[str, Any]) -> int:
    """Bytes of this rank's part of a state, each once."""
    tensors = [values for one in state.values() for values in _parts(one)]
    return sum(one.numel() * one.element_size() for one in tensors)


def _parts(one: Tensor | Pieces) -> list[Tensor]:
    if isinstance(one, Pieces):
        return [values for _, values in one.parts]
    return [one.to_local() if isinstance(one, DTensor) else one]
