"""Parts of a tensor that a rank has, as torch's distributed checkpoint writes and reads them: boxes of the whole. Chapter: sharded.

A checkpoint knows of every tensor its whole shape, and of every part where it begins and how long its sides are. Who loads says which
boxes it wants, and reads where they overlap with those that were written: so the number of ranks may be another one.
FSDP2's shards are rows, one box. ZeRO's are runs of a flat buffer: a run of a matrix is the end of a row, whole rows, and the
beginning of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor
from torch.distributed.checkpoint.metadata import ChunkStorageMetadata, MetadataIndex, TensorProperties
from torch.distributed.checkpoint.planner import TensorWriteData, WriteItem, WriteItemType

Box = tuple[tuple[int, ...], tuple[int, ...]]  # where it begins, and its sides, in elements


def boxes(shape: Sequence[int], start: int, stop: int) -> list[Box]:
    """The elements start..stop of a flattened tensor of `shape`, as boxes in the same order: at most 2n - 1 for n dimensions.

    ValueError for a range that is not inside.
    """
    if not 0 <= start <= stop <= prod(shape):
        raise ValueError(f"a range inside 0..{prod(shape)} of shape {tuple(shape)}, got {start}..{stop}")
    if start == stop:
        return []
    if len(shape) < 2:
        return [((start,), (stop - start,))] if shape else [((), ())]
    wide = prod(shape[1:])
    first, last = -(-start // wide), stop // wide  # the whole rows
    if first > last:
        return _in_row(shape, last, start % wide, stop % wide)
    head = _in_row(shape, first - 1, start % wide, wide) if start % wide else []
    rows = [((first, *[0] * (len(shape) - 1)), (last - first, *shape[1:]))] if first < last else []
    return head + rows + (_in_row(shape, last, 0, stop % wide) if stop % wide else [])


def _in_row(shape: Sequence[int], row: int, start: int, stop: int) -> list[Box]:
    return [((row, *at), (1, *sides)) for at, sides in boxes(shape[1:], start, stop)]


@dataclass(frozen=True)
class Pieces:
    """What this rank has of one tensor. parts: (where it begins, its elements), views of what is trained; none where it has none.

    The methods with underscores are those that torch asks of a tensor that is to be saved in parts, as it does of a DTensor
    (torch/distributed/_checkpointable.py).
    """

    shape: torch.Size
    dtype: torch.dtype
    parts: tuple[tuple[torch.Size, Tensor], ...]

    @classmethod
    def of(cls, flat: Tensor, shape: Sequence[int], start: int) -> Pieces:
        """flat: consecutive elements of a tensor of `shape`, from element `start` of it on."""
        cut = boxes(shape, start, start + flat.numel())
        values = flat.split([prod(sides) for _, sides in cut])
        parts = [(torch.Size(at), one.view(sides)) for (at, sides), one in zip(cut, values, strict=True)]
        return cls(torch.Size(shape), flat.dtype, tuple(parts))

    def size(self) -> torch.Size:
        return self.shape

    def at(self, index: MetadataIndex) -> Tensor:
        """The part that begins where `index` says."""
        return next(values for offset, values in self.parts if offset == index.offset)

    def __create_chunk_list__(self) -> list[ChunkStorageMetadata]:
        return [ChunkStorageMetadata(at, values.size()) for at, values in self.parts]

    def __create_write_items__(self, name: str, _: object) -> list[WriteItem]:
        return [self._item(MetadataIndex(name, at), values) for at, values in self.parts]

    def _item(self, index: MetadataIndex, values: Tensor) -> WriteItem:
        chunk = ChunkStorageMetadata(index.offset, values.size())
        data = TensorWriteData(chunk, TensorProperties.create_from_tensor(values), self.shape)
        return WriteItem(index, WriteItemType.SHARD, tensor_data=data)
