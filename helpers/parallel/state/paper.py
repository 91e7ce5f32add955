"""What each rank writes, in bytes: on paper from shapes alone, and read off a checkpoint's files. Chapter: sharded.

Of a number that several ranks have, one copy is written. torch gives it to the rank that has least to write so far
(torch/distributed/checkpoint/_dedup_save_plans.py); where every rank has everything, as under DDP, that shares the tensors out.
Gradients are not saved: a checkpoint is made between two steps, where they are not needed any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import prod
from pathlib import Path
from typing import NamedTuple

from helpers.parallel.reference import Training
from helpers.parallel.sharded.ours import unit_sizes

from .checked import described
from .pieces import Box, boxes

Key = tuple[str, tuple[int, ...]]  # a tensor's name, and where in it the part begins
MOMENTS = {"adamw": ("exp_avg", "exp_avg_sq"), "sgd": ()}
STEP_BYTES = 4  # AdamW's count of steps, one for each tensor that has a name
DONE_BYTES = 8  # the training's own


class Written(NamedTuple):
    """One rank's file. payload: bytes of its numbers; on_disk: its length; parts: how many tensors or pieces of them it has."""

    payload: int
    on_disk: int
    parts: int


def predicted(way: str, training: Training, nranks: int, team: int | None = None) -> list[int]:
    """Bytes of numbers that each rank writes, on paper. way: see `helpers.parallel.state.WAYS`; team: ranks of one replica."""
    nshards = nranks if team is None else team
    have = [dict(_parts(way, training, nshards, rank % nshards)) for rank in range(nranks)]
    names = {name for mine in have for name, at in mine if at}
    shapes = {name: training.model.shapes[_inner(name)] for name in names}
    return shared_out(have, {name: prod(shape) * training.itemsize for name, shape in shapes.items()})


def shared_out(have: Sequence[Mapping[Key, int]], whole: Mapping[str, int]) -> list[int]:
    """What each rank writes when no two write the same. have: bytes of every part that each rank has; whole: of the tensors that are cut.

    torch weighs a part by the bytes of the whole tensor.
    """
    owners: dict[Key, list[int]] = {}
    for rank, mine in enumerate(have):
        for key in mine:
            owners.setdefault(key, []).append(rank)
    planned, written = [0] * len(have), [0] * len(have)
    for key, ranks in owners.items():
        least, nbytes = min(ranks, key=lambda rank: planned[rank]), have[ranks[0]][key]
        planned[least] += whole.get(key[0], nbytes)
        written[least] += nbytes
    return written


def _parts(way: str, training: Training, nshards: int, shard: int) -> Iterator[tuple[Key, int]]:
    """All that one rank has, in the order of the names."""
    cut = {name: list(found) for name, found in _boxes(way, training, nshards, shard)}
    named = {f"model.{name}": found for name, found in cut.items()}
    for moment in MOMENTS[training.optimizer]:
        named |= {f"optimizer.{name}.{moment}": found for name, found in cut.items()}
    if training.optimizer == "adamw":
        named |= {f"optimizer.{name}.step": [] for name in cut}
    for name, found in sorted(named.items()):
        if name.endswith(".step"):
            yield (name, ()), STEP_BYTES
        yield from (((name, at), prod(sides) * training.itemsize) for at, sides in found)
    yield ("progress.step", ()), DONE_BYTES


def _inner(name: str) -> str:
    """The model's own name of a tensor of the checkpoint: "0.weight" of "optimizer.layers.0.weight.exp_avg"."""
    return ".".join(name.partition("layers.")[2].split(".")[:2])


def _boxes(way: str, training: Training, nshards: int, shard: int) -> Iterator[tuple[str, list[Box]]]:
    """Of every parameter, what one shard has of it."""
    model = training.model
    for i, size in enumerate(unit_sizes(model)):
        names = model.names(i)
        each = -(-size // nshards)
        ends = list(accumulate(prod(model.shapes[name]) for name in names))
        for name, end in zip(names, ends, strict=True):
            shape = model.shapes[name]
            if way == "ddp":
                yield f"layers.{name}", [((0,) * len(shape), shape)]
            elif way == "fsdp2":
                yield f"layers.{name}", [_rows(shape, nshards, shard)]
            else:
                begin = end - prod(shape)
                low, high = (min(max(at, shard * each), (shard + 1) * each) - begin for at in (begin, end))
                yield f"layers.{name}", boxes(shape, low, high) if high > low else []


def _rows(shape: Sequence[int], nshards: int, shard: int) -> Box:
    each = -(-shape[0] // nshards)
    low, high = (min(at * each, shape[0]) for at in (shard, shard + 1))
    return (low, *[0] * (len(shape) - 1)), (high - low, *shape[1:])


def written(folder: str | Path) -> dict[int, Written]:
    """What is in a checkpoint's files, by rank: read off the folder and its metadata, in any process."""
    folder = Path(folder)
    metadata, found = described(folder), {}
    for path in sorted(folder.glob("__*_*.distcp")):
        rank = int(path.name.strip("_").partition("_")[0])
        here = [index for index, place in metadata.storage_data.items() if place.relative_path == path.name]
        payload = sum(_nbytes(metadata.state_dict_metadata[index.fqn], index.index) for index in here)
        found[rank] = Written(payload, path.stat().st_size, len(here))
    return found


def _nbytes(tensor, part: int) -> int:
    return prod(tensor.chunks[part].sizes) * tensor.properties.dtype.itemsize
