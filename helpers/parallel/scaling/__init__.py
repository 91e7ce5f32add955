"""The table of strategies in time: a small transformer on few cores, and emulated computing. Chapters: data-parallel, meshes.

`python -m helpers.parallel.scaling` measures and records both.
"""

from .clocked import CLOCKED, Clocked, clocked
from .emulated import Emulated, emulated

__all__ = ["CLOCKED", "Clocked", "Emulated", "clocked", "emulated"]
