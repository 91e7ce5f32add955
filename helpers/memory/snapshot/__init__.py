"""PyTorch's own memory snapshots: read without running anything, as a trace and as segments, and compared with the model.

The format is the one that the docstring of torch.cuda.memory._snapshot describes; its "active_awaiting_free" is written
"active_pending_free" by torch's source, and both are read. Chapter: allocator.
"""

from helpers.memory.snapshot.checks import SnapshotError
from helpers.memory.snapshot.comparing import Comparison, compare
from helpers.memory.snapshot.reading import Snapshot, read
from helpers.memory.snapshot.writing import snapshot_of

__all__ = ["Comparison", "Snapshot", "SnapshotError", "compare", "read", "snapshot_of"]
