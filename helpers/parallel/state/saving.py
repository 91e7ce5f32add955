"""Save and load by torch.distributed.checkpoint, all ranks together: every rank its own part, and a save counts whole or not at all.

Chapter: sharded. torch/distributed/checkpoint of torch 2.13.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions

from .checked import refusal
from .folders import begin, commit, free
from .planners import LoadPlanner, SavePlanner, State


def save(state: State, root: str | Path, step: int) -> Path:
    """The checkpoint's folder, root/step-N, when it is whole and every rank may read it. ValueError where it is there already.

    state: by name, this rank's parts. Interrupted at any moment, it leaves all earlier checkpoints as they are. OSError on every rank
    where one of them could not write.
    """
    part = _opened(root, step)
    try:
        dcp.save(dict(state), storage_writer=dcp.FileSystemWriter(part), planner=SavePlanner())
    except CheckpointException as error:  # no Exception: `except Exception` would let it pass
        raise OSError(f"{part} is not whole: {_first(error, 'write')}") from error
    return _closed(part)


@dataclass
class Saving:
    """A save that goes on in a thread. staged: bytes of the copy that it writes from, which this rank holds meanwhile."""

    part: Path
    staged: int
    group: dist.ProcessGroup
    written: Future
    stager: DefaultStager

    def wait(self) -> Path:
        """Its folder when it is whole. All ranks together; before the next save. Errors as `save`."""
        try:
            self.written.result()
        except CheckpointException as error:
            raise OSError(f"{self.part} is not whole: {_first(error, 'write')}") from error
        finally:
            self.stager.close()
        return _closed(self.part, self.group)


def async_save(state: State, root: str | Path, step: int, group: dist.ProcessGroup) -> Saving:
    """Copy this rank's parts to the CPU and return; a thread writes the copy while the state is trained on.

    group: a Gloo group of all ranks for that thread alone, `dist.new_group(backend="gloo")`: its messages beside those of the
    training, in one group, could come in another order on every rank.
    """
    part, stager = _opened(root, step), Counting()
    writer = dcp.FileSystemWriter(part)
    told = dcp.async_save(
        dict(state), storage_writer=writer, planner=SavePlanner(), process_group=group, async_stager=stager
    )
    return Saving(part, stager.nbytes, group, told, stager)


class Counting(DefaultStager):
    """torch's copy on the CPU, counted. What it copies are storages: of a view, all of the memory that it is a view of."""

    def __init__(self) -> None:
        super().__init__(StagingOptions(False, False, False, False))
        self.nbytes = 0

    def stage(self, state_dict: dict[str, Any], **how: Any) -> dict[str, Any]:
        staged = super().stage(state_dict, **how)
        self.nbytes = sum(one.nbytes() for one in self._state_dict_stager._cached_storage_mapping.values())
        return staged


def load(state: State, folder: str | Path) -> None:
    """Fill `state` from a checkpoint of any number of ranks and any way to share out. Nothing is changed where it raises.

    ValueError on every rank for a checkpoint that is missing, interrupted, damaged, or of another model or optimizer.
    """
    folder, planner = Path(folder), LoadPlanner()
    told = refusal(state, folder)
    _agree(ValueError(told) if told else None)
    try:
        dcp.load(dict(state), storage_reader=dcp.FileSystemReader(folder), planner=planner)
    except CheckpointException as error:
        raise ValueError(f"{folder} is damaged: {_first(error, 'read')}") from error
    planner.put()


def _first(error: CheckpointException, what: str) -> str:
    """The first of the ranks that failed, and why."""
    rank, (why, _) = next(iter(error.failures.items()))
    return f"rank {rank} could not {what} its part: {why}"


def _opened(root: str | Path, step: int) -> Path:
    part, against = None, None
    try:
        part = free(Path(root), step)
        if dist.get_rank() == 0:
            begin(part)
    except (ValueError, OSError) as error:
        against = error
    _agree(against)
    return part


def _closed(part: Path, group: dist.ProcessGroup | None = None) -> Path:
    against = None
    try:
        if dist.get_rank() == 0:
            commit(part)
    except OSError as error:
        against = error
    _agree(against, group)  # nobody goes on before it has its name
    return part.with_suffix("")


def _agree(against: Exception | None, group: dist.ProcessGroup | None = None) -> None:
    """All ranks go on, or all raise: one alone would leave the others waiting for it."""
    every: list[Exception | None] = [None] * dist.get_world_size()
    dist.all_gather_object(every, against, group)
    for rank, one in enumerate(every):
        if one is not None:
            raise type(one)(str(one) if str(one) == str(against) else f"rank {rank}: {one}") from against
