"""The fault matrix of tests/faults for the benchmarks: the same notebook, the same cells, the same words."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "faults"))

from tools import needs

with needs.told():
    from busy import BUSY, ready
    from kernels import FOUR, HEALTHY, SUMS, Cell, Kernel, alive
    from scenarios import STUCK_OR_DIFFERENT, Scenario
    from test_matrix import MATRIX, same
    from test_promises import FIFTY, LAUNCHES

__all__ = [
    "BUSY",
    "FIFTY",
    "FOUR",
    "HEALTHY",
    "LAUNCHES",
    "MATRIX",
    "STUCK_OR_DIFFERENT",
    "SUMS",
    "Cell",
    "Kernel",
    "Scenario",
    "alive",
    "ready",
    "same",
]
