"""Training steps under torch's profiler: a sound one, three with a fault, and a wait for a loader. Chapter: reading-a-trace."""

from .jobs import FOLDER, JOBS, Job, Late, trace_path
from .loading import Slow, waits
from .steps import steps
from .tracing import kept, traced

__all__ = ["FOLDER", "JOBS", "Job", "Late", "Slow", "kept", "steps", "trace_path", "traced", "waits"]
