"""What a reader says of a text that it cannot read. Chapters: benchmarking, interconnects."""

from __future__ import annotations

from helpers.nccl.output.tables.cleaned import Line

_LONGEST = 160


class Unreadable(ValueError):
    """A text of another kind, or one that is damaged or contradicts itself. line: the number of its line, where one is to blame."""

    def __init__(self, what: str, line: Line | None = None) -> None:
        self.line = line.number if line else None
        text = " ".join(line.written.split()) if line else ""
        cut = text if len(text) <= _LONGEST else text[:_LONGEST] + " ..."
        super().__init__(f"{line.name} {line.number}: {what}; it reads: {cut}" if line else what)


class TableError(Unreadable):
    """No output of nccl-tests, or one that is damaged or contradicts itself."""


class NoTable(TableError):
    """Words of nccl-tests, and no row: a run that ended before its first size, or a text about it."""


class TopologyError(Unreadable):
    """No output of nvidia-smi topo -m, or one that is damaged or contradicts itself."""


class MachineError(Unreadable):
    """No output of the tool that it looks like, or one that is damaged."""
